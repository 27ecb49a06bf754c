// A declaration file keeps only imports of types that it names. These imports have no names, so it
// keeps them, and with them the options that the features declare.
import '../answer/direct-answers.ts';
import '../answer/on-limit.ts';
import '../approval/approvals.ts';
import '../limits/run-limits.ts';
import '../prompt/retrieval-role.ts';
import '../selection/allowed-tools.ts';
import '../steering/steering.ts';

/** The options that features add to those of the kernel. */
export type { FeatureOptions } from '../agent/kernel-options.ts';
