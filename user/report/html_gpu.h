/* GPUs as the page has them: lanes of its timelines. In: an attribution with a timeline of GPUs. */
#pragma once

#include "html.h"

/*
 * ,"gpus":[{…}]: those of the process of track @track, or ATTRIB_NONE: of the processes without one; html_gpu.js draws
 * them. Nothing where there are none. 0 or -ENOMEM.
 */
int html_gpu_write(struct html_page *page, uint32_t track);

/*
 * ,"gpu_memory":{…}: what the process of @track had allocated at the end of its steps, of every @per_bin of them the most.
 * Nothing where that is not known of any. 0 or -ENOMEM.
 */
int html_gpu_memory_write(struct html_page *page, uint32_t track, uint32_t per_bin);
