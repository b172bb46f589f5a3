/* SPDX-License-Identifier: Apache-2.0 */
/* Inside ward policy: what its --help prints. */
#pragma once

extern const char policy_help[];
