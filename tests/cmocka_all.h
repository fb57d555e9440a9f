/* SPDX-License-Identifier: MIT
 *
 * cmocka with the headers that it wants first.
 */
#ifndef TCB_TESTS_CMOCKA_ALL_H
#define TCB_TESTS_CMOCKA_ALL_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#endif
