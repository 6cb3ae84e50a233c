/* SPDX-License-Identifier: Apache-2.0 */
/* text_pieces.h - the pieces of ops' forms that the language of text_forms.def does not say. */
#ifndef TN_READER_TEXT_PIECES_H
#define TN_READER_TEXT_PIECES_H

#include "reader/text_parser.h"

/* `=name` of text_forms.def. */
tn_status *tn_parse_piece(tn_parser *p, tn_parse_op *o, const char *name) TN_MUST_USE;
/* Types with commas between them; none if no type comes next. */
tn_status *tn_parse_type_list(tn_parser *p, tn_parse_list *types) TN_MUST_USE;
/* The ops that are read as a whole (text_loops.c). */
tn_status *tn_parse_reduce(tn_parser *p, tn_parse_op *o) TN_MUST_USE;
tn_status *tn_parse_while(tn_parser *p, tn_parse_op *o) TN_MUST_USE;

#endif
