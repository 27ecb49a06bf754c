interface Bindings {
  readonly SESSION_SECRET?: string;
  readonly SESSION_SECRET_OLD?: string;
}

/** Returns the secrets for echoes and signatures. The first one signs. */
export function sessionSecrets(env: object | undefined): readonly string[] {
  const { SESSION_SECRET: secret, SESSION_SECRET_OLD: old } = (env ?? {}) as Bindings;
  return [secret, old].flatMap((each) => each || []);
}
