import { oneOf, optional } from '../error/options/kinds.ts';
import type { OptionTable } from '../error/options/option-table.ts';
import type { FeatureOptions } from '../agent/kernel-options.ts';

declare module '../agent/kernel-options.ts' {
  interface FeatureOptions {
    /**
     * Place of the documents of a `retrieval()` without its own `role`. `system`: in the system
     * prompt.
     * @default 'user'
     */
    readonly retrievalRole?: 'user' | 'system';
  }
}

/** The kind of the option that every `retrieval()` reads. */
export const retrievalRole: OptionTable<Pick<FeatureOptions, 'retrievalRole'>> = {
  retrievalRole: optional(oneOf('user', 'system')),
};
