import type { HandlerSettings } from '../handler-options.ts';
import { hideValues } from './log-text.ts';

/** Hides the secrets of a handler in the log: the option `secrets`, and the key of the echoes. */
export function hideSecrets({ secrets = [] }: Pick<HandlerSettings, 'secrets'>, env: object): void {
  const bindings = env as Readonly<Record<string, unknown>>;
  const values =
    typeof secrets === 'function' ? secrets(env) : secrets.map((binding) => bindings[binding]);
  hideValues([...values, bindings['SESSION_SECRET']]);
}
