/* base: which arguments of a command line are secrets, and what is left of them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "secret.h"

/* "|" stands for the NUL between two arguments. */
static char *masked(const char *text)
{
	size_t len = strlen(text), ret_len = 0;
	char *cmdline = strdup(text), *ret, *shown;

	for (size_t i = 0; i < len; i++)
		if (cmdline[i] == '|')
			cmdline[i] = '\0';
	ret = secret_mask(cmdline, len, &ret_len);
	assert_non_null(ret);
	shown = calloc(ret_len + 1, 1);
	for (size_t i = 0; i < ret_len; i++)
		shown[i] = ret[i] ? ret[i] : '|';
	free(ret);
	free(cmdline);
	return shown;
}

static void check(const char *text, const char *wanted)
{
	char *shown = masked(text);

	assert_string_equal(shown, wanted);
	free(shown);
}

static void secrets_are_masked(void **state)
{
	check("python|t.py|--token=hf_x1|--lr|3", "python|t.py|--token=***|--lr|3");
	check("t.py|--password|p w|--lr|3", "t.py|--password|***|--lr|3");
	check("t.py|--password=p w;x", "t.py|--password=***");
	check("t.py|-token|x", "t.py|-token|***");
	check("env|WANDB_API_KEY=0123|python", "env|WANDB_API_KEY=***|python");
	check("AWS_SECRET_ACCESS_KEY=a/b+c", "AWS_SECRET_ACCESS_KEY=***");
	check("--hf-token|x|--api_key|y|--access-key=z",
		"--hf-token|***|--api_key|***|--access-key=***");
	check("java|-Djavax.net.ssl.keyStorePassword=x|-Xmx1g",
		"java|-Djavax.net.ssl.keyStorePassword=***|-Xmx1g");
	check("--db|postgresql://ada:x@h/d?sslmode=no", "--db|postgresql://ada:***@h/d?sslmode=no");
	check("redis://:x@h:6379/0", "redis://:***@h:6379/0");
	check("https://a:p@ss@h/x", "https://a:***@h/x");
	check("curl|-H|Authorization: Bearer x.y", "curl|-H|Authorization: ***");
	check("https://h/x?token=x&n=7", "https://h/x?token=***&n=7");
	check("--config|{\"api_key\": \"x y\", \"n\": 7}",
		"--config|{\"api_key\": \"***\", \"n\": 7}");
	check("sh|-c|cd x; TOKEN=x python t.py --secret y; ls",
		"sh|-c|cd x; TOKEN=*** python t.py --secret ***; ls");
	check("sh|-c|TOKEN=x python t.py", "sh|-c|TOKEN=***"); /* or is it a passphrase? */
	check("sh|-c| PASSWORD='a b' curl -H \"Authorization: Bearer z\" h",
		"sh|-c| PASSWORD='***' curl -H \"Authorization: Bearer ***\" h");
	check("t.py|--auth|a", "t.py|--auth|***");
}

static void the_rest_stays(void **state)
{
	static const char *const plain[] = {"", "|", "||x",
		"python|-m|torch.distributed.run|--nproc_per_node=2",
		"t.py|--tokenizer|gpt2|--max-tokens|512|--max_tokens=7", "t.py|--author|Ada",
		"t.py|--token", "t.py|--token|--verbose|--password=", "ssh://git@h/r",
		"https://h:443/x", "a=b|c:d|=|:|://|://@|-|--",
		"t.py|--key|3|--keyframes|7|--secrets-manager", "token", "password|x"};

	for (size_t i = 0; i < sizeof(plain) / sizeof(*plain); i++)
		check(plain[i], plain[i]);
}

static void the_result_fits(void **state)
{
	char text[3 * 4096];
	size_t used = 0, len;
	char *ret;

	while (used + 8 < sizeof(text))
		used += (size_t)sprintf(text + used, "AUTH=x;");
	ret = secret_mask(text, used, &len);		/* the sanitizers look on */
	assert_int_equal(len, 3 + sizeof("AUTH=") - 1); /* all of it is one argument's value */
	free(ret);
	used = 0;
	while (used + 8 < sizeof(text))
		used += (size_t)sprintf(text + used, " AUTH=x");
	ret = secret_mask(text, used, &len);
	assert_int_equal(len, used / 7 * 9);
	free(ret);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(secrets_are_masked),
		cmocka_unit_test(the_rest_stays),
		cmocka_unit_test(the_result_fits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
