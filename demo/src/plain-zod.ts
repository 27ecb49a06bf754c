import { config } from 'zod/v4/core';

/**
 * Lets zod check values without `eval`. The page's policy forbids `eval`, and Firefox reports even
 * zod's try in its console. Imported first, because zod tries with its first schema.
 */
config({ jitless: true });
