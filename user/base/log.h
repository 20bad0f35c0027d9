/* The log on stderr. Rooms below cmd/ log debug only; cmd/ logs errors, once. */
#pragma once

#include <stdbool.h>

enum log_level { LOG_ERROR, LOG_WARNING, LOG_INFO, LOG_DEBUG };

void log_set_level(enum log_level level);
bool log_enabled(enum log_level level);
void log_write(enum log_level level, const char *format, ...) __attribute__((format(printf, 2, 3)));

#define log_error(...)	 log_write(LOG_ERROR, __VA_ARGS__)
#define log_warning(...) log_write(LOG_WARNING, __VA_ARGS__)
#define log_info(...)	 log_write(LOG_INFO, __VA_ARGS__)
#define log_debug(...)                                                                             \
	do {                                                                                       \
		if (log_enabled(LOG_DEBUG))                                                        \
			log_write(LOG_DEBUG, __VA_ARGS__);                                         \
	} while (0)
