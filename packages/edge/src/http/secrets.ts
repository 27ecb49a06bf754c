import { addSecrets } from '@isoloop/core/error';
import type { HandlerSettings } from '../settings/handler-options.ts';

/** Masks the secrets of a handler in the log: the option `secrets`, and the keys of the echoes. */
export function addSecretsOf(
  { secrets = [] }: Pick<HandlerSettings, 'secrets'>,
  env: object,
): void {
  const bindings = env as Readonly<Record<string, unknown>>;
  const values =
    typeof secrets === 'function' ? secrets(env) : secrets.map((binding) => bindings[binding]);
  addSecrets([...values, ...sessionSecrets(env)]);
}

interface Bindings {
  readonly SESSION_SECRET?: string;
  readonly SESSION_SECRET_OLD?: string;
}

/** Returns the secrets for echoes and signatures. The first one signs. */
export function sessionSecrets(env: object | undefined): readonly string[] {
  const { SESSION_SECRET: secret, SESSION_SECRET_OLD: old } = (env ?? {}) as Bindings;
  return [secret, old].flatMap((each) => each || []);
}
