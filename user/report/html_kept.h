/* The pauses that the page holds one by one. In: struct html_keep. Out: JSON by name. */
#pragma once

#include <stdint.h>

#include "html.h"

/*
 * ,"kept":{"count":…,"columns":{"start_us":{…},…}}: the pauses of @track, or of none, by start; html_read.js reads them.
 * 0 or -ENOMEM.
 */
int html_kept_write(struct html_page *page, uint32_t track);
