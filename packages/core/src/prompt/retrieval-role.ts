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

/** Field of the option `retrievalRole` for `checkOptions`. */
export const retrievalFields = 'retrievalRole:user|system|?';
