/* What was recorded and how: processes with their tiers, signals and candidates, losses → JSON. */
#include <errno.h>
#include <string.h>

#include "cleanup.h"
#include "html.h"
#include "html_pack.h"
#include "html_table.h"
#include "model_signals.h"
#include "model_tables.h"

#define LISTED 200 /* drops */

static void put_field(struct html_page *page, const char *name, const char *field, size_t size)
{
	html_text(page->out, name, field, strnlen(field, size), size, &page->text);
}

/* The tables of processes and signals. 0 or -ENOMEM. */
static int put_tables(struct html_page *page)
{
	const struct attribution *attribution = page->input->attribution;
	_cleanup_(model_release) struct model model = {0};

	model_processes(&model, page->input, &page->summary);
	model_signals(&model, page->input->recording, attribution ? attribution->steps : NULL);
	return model.failed ? -ENOMEM : html_tables_write(page, "recorded", &model);
}

static void put_drops(struct html_page *page)
{
	const struct recording *recording = page->input->recording;

	html_key(page->out, false, "drops");
	putc_unlocked('[', page->out);
	for (size_t i = 0; i < recording->drops.count && i < LISTED; i++) {
		const struct drop *drop = &recording->drops.items[i];

		fprintf(page->out, "%s{\"count\":%llu", i ? "," : "",
			(unsigned long long)drop->count);
		put_field(page, "cause", drop->cause, sizeof(drop->cause));
		put_field(page, "remedy", drop->remedy, sizeof(drop->remedy));
		putc_unlocked('}', page->out);
	}
	putc_unlocked(']', page->out);
}

int html_recorded_write(struct html_page *page)
{
	put_drops(page);
	return put_tables(page);
}
