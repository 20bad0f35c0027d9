/*
 * Pauses, gaps and waits of one process in; by how much later each of its devices is done because of each pause out.
 *
 * The host is taken as one: the threads of a process that launch hand over to each other, as PyTorch's backward pass does.
 * Two delays are followed through time: that of the host, to which a pause adds its length, and that of each device. When
 * a device starves, its delay grows by as much as it stood idle, up to the host's: without the pause it would have been
 * done earlier by the one, and had the next launch earlier by the other. When the host waits for a device, its delay becomes
 * the device's. Each pause's part in both is kept, the oldest pause's first.
 */
#include <errno.h>
#include <stdlib.h>

#include "cleanup.h"
#include "gpu_priv.h"
#include "stats.h"

/* What is taken for true where the records do not say. */
enum way { WAY_LIKELY, WAY_LOW, WAY_HIGH };

struct reached {
	uint64_t time_ns, total_ns;
};

/* One device of the process. */
struct lane {
	const struct gpu_device *device;
	uint64_t *got;	   /* by pause: of its delay, what has reached the device */
	bool *unknown;	   /* by pause */
	uint64_t total_ns; /* sum of got */
	size_t head; /* all of what pauses before it delay the host by has reached the device */
	VEC(size_t) ahead; /* pauses by which the host is no longer as late as the device is */
	VEC(struct reached) log; /* total_ns over time */
	size_t busy;		 /* the first interval that is not over */
	uint64_t given_ns;	 /* until when its short gaps have been counted */
};

struct walk {
	const struct gpu_subject *subject;
	enum way way;
	VEC(struct lane) lanes;
	uint64_t *from;	   /* by pause: when it began to stop what no earlier one stopped */
	uint64_t *host;	   /* by pause: by how much later the host is because of it */
	size_t begun;	   /* pauses */
	bool queue;	   /* launches found their queue full */
	VEC(size_t) alone; /* of these, those that stop one thread only */
};

static const struct gpu_pause *pause_of(const struct walk *walk, size_t index)
{
	return &walk->subject->pauses[walk->subject->own.items[index]];
}

static uint64_t less(uint64_t a, uint64_t b)
{
	return a > b ? a - b : 0;
}

static uint64_t lesser(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static uint64_t greater(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static void set_got(struct lane *lane, size_t pause, uint64_t ns)
{
	lane->total_ns -= lane->got[pause];
	lane->got[pause] = ns;
	lane->total_ns += ns;
}

/* The device of @lane had nothing to do for @gap_ns, until @time_ns, as thread @tid launched too late. 0 or -ENOMEM. */
static int starve(struct walk *walk, struct lane *lane, uint64_t gap_ns, uint32_t tid,
	uint64_t time_ns)
{
	uint64_t before_ns = lane->total_ns, left_ns = gap_ns;
	struct reached *reached;

	for (size_t i = 0; i < lane->ahead.count; i++)
		set_got(lane, lane->ahead.items[i],
			lesser(lane->got[lane->ahead.items[i]], walk->host[lane->ahead.items[i]]));
	lane->ahead.count = 0;
	for (size_t i = lane->head; i < walk->begun; i++) {
		uint64_t room_ns = less(walk->host[i], lane->got[i]);

		if (!pause_of(walk, i)->stops_all)
			room_ns = 0;
		if (room_ns > left_ns) {
			set_got(lane, i, lane->got[i] + left_ns);
			break;
		}
		set_got(lane, i, lane->got[i] + room_ns);
		left_ns -= room_ns;
		lane->head = i + 1;
	}
	for (size_t i = 0; i < walk->alone.count; i++) {
		size_t pause = walk->alone.items[i];
		bool own = tid ? pause_of(walk, pause)->tid == tid : walk->way != WAY_LOW;

		set_got(lane, pause,
			own ? lesser(walk->host[pause], lane->got[pause] + gap_ns) : 0);
	}
	if (lane->total_ns == before_ns)
		return 0;
	reached = vec_add(&lane->log);
	if (!reached)
		return -ENOMEM;
	*reached = (struct reached){time_ns, lane->total_ns};
	return 0;
}

/* How much of the delay of @lane reached it after @time_ns. */
static uint64_t reached_since(const struct lane *lane, uint64_t time_ns)
{
	size_t low = 0, high = lane->log.count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (lane->log.items[middle].time_ns <= time_ns)
			low = middle + 1;
		else
			high = middle;
	}
	return less(lane->total_ns, low ? lane->log.items[low - 1].total_ns : 0);
}

/* What of the short gaps in @busy is taken to lie in [@from, @to): nobody knows where in it they are. */
static uint64_t given(const struct walk *walk, const struct gpu_busy *busy, uint64_t from,
	uint64_t to)
{
	double share = (double)less(to, from) / (double)(busy->end_ns - busy->start_ns);
	uint64_t all_ns = busy->starved_ns;

	if (to <= from || walk->way == WAY_LOW)
		return 0;
	if (walk->way == WAY_LIKELY)
		return stats_whole(share * (double)all_ns + 0.5);
	stats_add(&all_ns, busy->unsure_ns);
	return all_ns;
}

/* Counts the short gaps in the busy intervals of @lane until @until_ns. 0 or -ENOMEM. */
static int give(struct walk *walk, struct lane *lane, uint64_t until_ns)
{
	for (; lane->busy < lane->device->busy.count; lane->busy++) {
		const struct gpu_busy *busy = &lane->device->busy.items[lane->busy];
		uint64_t from = greater(busy->start_ns, lane->given_ns);
		uint64_t to = lesser(busy->end_ns, until_ns);
		uint64_t gap_ns = given(walk, busy, from, to);

		if (busy->start_ns >= until_ns)
			break;
		if (gap_ns && starve(walk, lane, gap_ns, busy->tid, to))
			return -ENOMEM;
		lane->given_ns = greater(lane->given_ns, to);
		if (busy->end_ns > until_ns)
			break;
	}
	return 0;
}

/* By how much later the host is because of pause @index is @ns from now on. 0 or -ENOMEM. */
static int set_host(struct walk *walk, size_t index, uint64_t ns)
{
	bool later = ns > walk->host[index];

	walk->host[index] = ns;
	for (size_t i = 0; i < walk->lanes.count; i++) {
		struct lane *lane = &walk->lanes.items[i];
		size_t *added;

		if (later && lane->head > index)
			lane->head = index;
		if (later || lane->got[index] <= ns)
			continue;
		added = vec_add(&lane->ahead);
		if (!added)
			return -ENOMEM;
		*added = index;
	}
	return 0;
}

/* The host goes on at @freed_ns, when @lane has done what it waited for, with @slack_ns to spare. */
struct meeting {
	struct lane *lane;
	uint64_t from_ns, freed_ns, slack_ns;
};

/* What of a delay of @left_ns by pause @index the host still has after @meeting. */
static uint64_t kept(const struct walk *walk, struct meeting *meeting, size_t index,
	uint64_t left_ns)
{
	uint64_t end_ns = pause_of(walk, index)->end_ns, spare_ns = 0;
	uint64_t late_ns = less(end_ns, greater(walk->from[index], meeting->freed_ns));

	late_ns = lesser(late_ns, left_ns);
	if (end_ns <= meeting->from_ns)
		spare_ns = lesser(left_ns - late_ns, meeting->slack_ns);
	meeting->slack_ns -= spare_ns;
	return late_ns + spare_ns;
}

/* A device that is later than the host makes it wait: by up to @gain_ns longer than without the pauses. 0 or -ENOMEM. */
static int catch_up(struct walk *walk, struct lane *lane, uint64_t gain_ns)
{
	for (size_t i = 0; i < lane->ahead.count; i++) {
		size_t pause = lane->ahead.items[i];
		uint64_t add_ns = lesser(less(lane->got[pause], walk->host[pause]), gain_ns);

		gain_ns -= add_ns;
		if (add_ns && set_host(walk, pause, walk->host[pause] + add_ns))
			return -ENOMEM;
	}
	return 0;
}

static void meet_alone(struct walk *walk, const struct meeting *meeting, uint32_t tid)
{
	for (size_t i = 0; i < walk->alone.count; i++) {
		size_t pause = walk->alone.items[i];
		const uint64_t *got = &meeting->lane->got[pause];
		uint64_t left_ns = less(walk->host[pause], *got);
		struct meeting one = *meeting;

		if (left_ns && pause_of(walk, pause)->tid == tid)
			walk->host[pause] = *got + kept(walk, &one, pause, left_ns);
	}
}

static int meet(struct walk *walk, struct meeting meeting, uint32_t tid)
{
	struct lane *lane = meeting.lane;

	meet_alone(walk, &meeting, tid);
	if (catch_up(walk, lane, meeting.freed_ns - meeting.from_ns))
		return -ENOMEM;
	for (size_t i = walk->begun; i-- > lane->head;) {
		uint64_t left_ns = less(walk->host[i], lane->got[i]);

		if (left_ns && pause_of(walk, i)->stops_all &&
			set_host(walk, i, lane->got[i] + kept(walk, &meeting, i, left_ns)))
			return -ENOMEM;
	}
	while (lane->head < walk->begun && (walk->host[lane->head] <= lane->got[lane->head] ||
						   !pause_of(walk, lane->head)->stops_all))
		lane->head++;
	return 0;
}

/* The lane of @device, or if it is not known the one whose work ended nearest to @end_ns; NULL: there is none. */
static struct lane *lane_of(const struct walk *walk, uint32_t device, uint64_t end_ns)
{
	struct lane *found = NULL;
	uint64_t nearest = UINT64_MAX;

	for (size_t i = 0; i < walk->lanes.count; i++) {
		struct lane *lane = &walk->lanes.items[i];
		size_t at = gpu_busy_from(lane->device, end_ns);
		uint64_t apart =
			at ? stats_distance(lane->device->busy.items[at - 1].end_ns, end_ns)
			   : UINT64_MAX;

		if (device != GPU_DEVICE_NONE && lane->device->device == device)
			return lane;
		if (!found || apart < nearest) {
			found = lane;
			nearest = apart;
		}
	}
	return device == GPU_DEVICE_NONE ? found : NULL;
}

/*
 * A copy that is done when its call returns need not have been waited for: the call may be that slow by itself, or a pause
 * may have begun within it.
 */
static bool may_go_on(const struct walk *walk, const struct gpu_wait *wait)
{
	if (!wait->copy || wait->done_ns < wait->start_ns)
		return false;
	return wait->end_ns - wait->start_ns < GPU_WAITED_NS ||
	       (walk->begun && pause_of(walk, walk->begun - 1)->end_ns > wait->start_ns);
}

static int on_wait(struct walk *walk, const struct gpu_launcher *launcher,
	const struct gpu_wait *wait)
{
	struct lane *lane = lane_of(walk, wait->device, wait->end_ns);
	uint64_t done_ns = wait->done_ns;
	size_t at;

	if (!lane || give(walk, lane, wait->end_ns))
		return lane ? -ENOMEM : 0;
	if (wait->device == GPU_DEVICE_NONE && walk->lanes.count > 1 && walk->way == WAY_HIGH)
		return 0;
	if (walk->way == WAY_HIGH && may_go_on(walk, wait))
		return 0;
	if (!done_ns && wait->end_ns - wait->start_ns >= GPU_WAITED_NS)
		done_ns = wait->end_ns;
	at = gpu_busy_from(lane->device, wait->start_ns);
	if (!done_ns && walk->way == WAY_HIGH)
		return 0;
	if (!done_ns && walk->way == WAY_LOW)
		done_ns = wait->start_ns;
	if (!done_ns && at)
		done_ns = lane->device->busy.items[at - 1].end_ns;
	if (!done_ns ||
		(!wait->done_ns && done_ns > wait->end_ns)) /* it worked on something else */
		return 0;
	done_ns = lesser(done_ns, wait->end_ns);
	return meet(walk,
		(struct meeting){
			.lane = lane,
			.from_ns = wait->start_ns,
			.freed_ns = greater(wait->start_ns, done_ns),
			.slack_ns =
				less(less(wait->start_ns, done_ns), reached_since(lane, done_ns)),
		},
		launcher->tid);
}

static int on_pause(struct walk *walk, size_t index)
{
	const struct gpu_pause *pause = pause_of(walk, index);
	size_t *added;

	for (size_t i = 0; i < walk->lanes.count; i++)
		if (give(walk, &walk->lanes.items[i], pause->start_ns))
			return -ENOMEM;
	walk->host[index] = less(pause->end_ns, walk->from[index]);
	walk->begun = index + 1;
	if (pause->stops_all)
		return 0;
	added = vec_add(&walk->alone);
	if (!added)
		return -ENOMEM;
	*added = index;
	return 0;
}

/* When the records of @device before @time_ns were last missing ended. */
static uint64_t known_from(const struct gpu_device *device, uint64_t time_ns)
{
	const size_t low = vec_first(&device->unknown, start_ns, time_ns);

	return low ? lesser(device->unknown.items[low - 1].end_ns, time_ns) : 0;
}

/*
 * Something was launched at @time_ns. Without the pauses before that the host may have found the queue full, and so have
 * been no earlier than the device is: a launch that found room does not show what it would have waited for. 0 or -ENOMEM.
 */
static int hold_back(struct walk *walk, const struct lane *lane, uint64_t time_ns)
{
	for (size_t i = lane->head; i < walk->begun; i++)
		if (walk->host[i] > lane->got[i] && pause_of(walk, i)->end_ns <= time_ns &&
			set_host(walk, i, lane->got[i]))
			return -ENOMEM;
	return 0;
}

/*
 * What the device waited for with something launched at @time_ns may have been no later for pauses that were not over by
 * then: something else than the host or its own work before.
 */
static void forget(const struct walk *walk, struct lane *lane, uint64_t time_ns)
{
	for (size_t i = walk->begun; i-- && pause_of(walk, i)->end_ns > time_ns;) {
		set_got(lane, i, 0);
		if (lane->head > i)
			lane->head = i;
	}
}

static int on_gap(struct walk *walk, struct lane *lane, size_t index)
{
	const struct gpu_busy *next = &lane->device->busy.items[index];
	uint64_t dry_ns = gpu_dry_from(lane->device, index);
	uint64_t from = greater(dry_ns, known_from(lane->device, next->start_ns));
	bool starved = gpu_starved(next, dry_ns);

	if (give(walk, lane, next->start_ns))
		return -ENOMEM;
	if (!starved && walk->way == WAY_LOW)
		forget(walk, lane, next->launch_ns ? next->launch_ns : dry_ns);
	if ((!starved && walk->way != WAY_HIGH) || from >= next->start_ns)
		return 0;
	if (walk->queue && walk->way == WAY_LOW && hold_back(walk, lane, next->previous_ns))
		return -ENOMEM;
	return starve(walk, lane, next->start_ns - from, next->tid, next->start_ns);
}

/* What is not over when records are missing cannot be told. */
static void on_unknown(struct walk *walk, struct lane *lane)
{
	if (walk->way != WAY_LIKELY)
		return;
	for (size_t i = lane->head; i < walk->begun; i++)
		if (walk->host[i] != lane->got[i])
			lane->unknown[i] = true;
	for (size_t i = 0; i < walk->alone.count; i++)
		lane->unknown[walk->alone.items[i]] = true;
	lane->head = walk->begun;
}

static int walk_through(struct walk *walk, const struct gpu_events *events)
{
	int r = 0;

	for (size_t i = 0; i < events->all.count && !r; i++) {
		const struct gpu_event *event = &events->all.items[i];
		const struct gpu_launcher *launcher;

		switch (event->kind) {
		case EVENT_WAIT:
			launcher = &walk->subject->timeline->launchers.items[event->owner];
			r = on_wait(walk, launcher, &launcher->waits.items[event->index]);
			break;
		case EVENT_PAUSE:
			r = on_pause(walk, event->index);
			break;
		case EVENT_GAP:
			r = on_gap(walk, &walk->lanes.items[event->owner], event->index);
			break;
		case EVENT_UNKNOWN:
			on_unknown(walk, &walk->lanes.items[event->owner]);
			break;
		}
	}
	for (size_t i = 0; i < walk->lanes.count && !r; i++)
		r = give(walk, &walk->lanes.items[i], UINT64_MAX);
	return r;
}

static void walk_release(struct walk *walk)
{
	for (size_t i = 0; i < walk->lanes.count; i++) {
		vec_free(&walk->lanes.items[i].ahead);
		vec_free(&walk->lanes.items[i].log);
	}
	vec_free(&walk->lanes);
	vec_free(&walk->alone);
	free(walk->from);
	free(walk->host);
}

/* Where pauses overlap each other, each moment is the earlier one's. */
static void set_starts(struct walk *walk)
{
	uint64_t covered_ns = 0;

	for (size_t i = 0; i < walk->subject->own.count; i++) {
		const struct gpu_pause *pause = pause_of(walk, i);

		walk->from[i] = greater(pause->start_ns, pause->stops_all ? covered_ns : 0);
		if (pause->stops_all)
			covered_ns = greater(covered_ns, pause->end_ns);
	}
}

static int walk_make(struct walk *walk, const struct gpu_subject *subject, uint64_t *got,
	bool *unknown)
{
	size_t count = subject->own.count;

	walk->subject = subject;
	walk->from = calloc(count + 1, sizeof(*walk->from));
	walk->host = calloc(count + 1, sizeof(*walk->host));
	if (!walk->from || !walk->host)
		return -ENOMEM;
	set_starts(walk);
	walk->queue = gpu_queue_fills(subject);
	for (size_t i = 0; i < subject->devices.count; i++) {
		struct lane *lane = vec_add(&walk->lanes);

		if (!lane)
			return -ENOMEM;
		lane->device = &subject->timeline->devices.items[subject->devices.items[i]];
		lane->got = got + i * count;
		lane->unknown = unknown + i * count;
	}
	return 0;
}

int gpu_lost_find(const struct gpu_subject *subject, struct gpu_lost *ret)
{
	size_t count = subject->own.count * subject->devices.count;
	_cleanup_free_ struct gpu_event *owned = NULL;
	struct gpu_events events = {};
	int r;

	ret->ns = calloc(count + 1, sizeof(*ret->ns));
	ret->low_ns = calloc(count + 1, sizeof(*ret->low_ns));
	ret->high_ns = calloc(count + 1, sizeof(*ret->high_ns));
	ret->unknown = calloc(count + 1, sizeof(*ret->unknown));
	if (!ret->ns || !ret->low_ns || !ret->high_ns || !ret->unknown)
		return -ENOMEM;
	r = gpu_events_make(subject, &events);
	owned = events.all.items;
	for (enum way way = WAY_LIKELY; way <= WAY_HIGH && !r; way++) {
		_cleanup_(walk_release) struct walk walk = {.way = way};

		r = walk_make(&walk, subject,
			way == WAY_LIKELY ? ret->ns
			: way == WAY_LOW  ? ret->low_ns
					  : ret->high_ns,
			ret->unknown);
		if (!r)
			r = walk_through(&walk, &events);
	}
	return r;
}

void gpu_lost_release(struct gpu_lost *lost)
{
	free(lost->ns);
	free(lost->low_ns);
	free(lost->high_ns);
	free(lost->unknown);
}
