import type { Context } from 'hono';
import type { EdgeEnv } from '@isoloop/edge';
import { ignoredHeader } from '@isoloop/edge/api';
import type { OpenAiSettings } from '../request/openai-options.ts';

/** Maximum number of fields that the log or a header names, because a client can send any name. */
const maxNames = 50;

/** Names that a header and the log can have unchanged. */
const plainName = /^[\w.-]{1,64}$/;

/**
 * Names the ignored fields of a request in a header of its answer, also of an error. Writes each
 * field to the log once, and then that the log names no more. Leaves out names that no API has,
 * such as texts with spaces.
 */
export function nameIgnoredFields(
  c: Context<EdgeEnv>,
  ignoredFields: readonly string[],
  { loggedFields }: Pick<OpenAiSettings, 'loggedFields'>,
): void {
  const names = ignoredFields.filter((name) => plainName.test(name)).slice(0, maxNames);
  if (names.length) c.set('routeHeaders', [[ignoredHeader, names.join(', ')]]);
  for (const name of names) {
    if (loggedFields.has(name) || loggedFields.size > maxNames) continue;
    loggedFields.add(name);
    const isLast = loggedFields.size > maxNames;
    console.warn(
      isLast
        ? `openAiRoutes(): more than ${maxNames} different fields of requests had no effect. The log names no more; the header \`${ignoredHeader}\` does.`
        : `openAiRoutes(): the field \`${name}\` of requests has no effect. To refuse it, set \`strict: true\`.`,
    );
  }
}
