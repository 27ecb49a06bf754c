import { hideSecrets } from '@isoloop/core/observe';
import type { HandlerSettings } from '../handler-options.ts';
import { sessionSecrets } from './session-secrets.ts';

/** Hides the secrets of a handler in the log: the option `secrets`, and the keys of the echoes. */
export function hideSecretsOf(
  { secrets = [] }: Pick<HandlerSettings, 'secrets'>,
  env: object,
): void {
  const bindings = env as Readonly<Record<string, unknown>>;
  const values =
    typeof secrets === 'function' ? secrets(env) : secrets.map((binding) => bindings[binding]);
  hideSecrets([...values, ...sessionSecrets(env)]);
}
