/* Tables of the model in; JSON for html_table.js out. */
#pragma once

#include "html.h"
#include "model.h"

/*
 * {"key":…,"caption":…,"columns":[{"key":…,"title":…,"unit":…},…],"rows":[{…},…],"notes":[…]}: a row's members are named
 * by the columns. 0 or -ENOMEM.
 */
int html_table_write(struct html_page *page, const struct model_table *table);
/* ,"@name":[…] of all tables that have a view for the page. 0 or -ENOMEM. */
int html_tables_write(struct html_page *page, const char *name, const struct model *model);
