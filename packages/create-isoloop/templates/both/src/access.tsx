import { useEffect, useState, type ReactNode } from 'react';

/** Access of a user whose token is valid. */
export type Access = {
  readonly token: string;
  /** Whether the endpoint has a key for the model. */
  readonly hasKey: boolean;
};

/** Asks for the token until the endpoint accepts it. Then shows what `children` returns. */
export function WithAccess({ children }: { readonly children: (access: Access) => ReactNode }) {
  const [access, setAccess] = useState<Access>();
  const [problem, setProblem] = useState(localStorage['token'] ? undefined : '');
  const submit = (token: string) =>
    checkToken(token).then(setAccess, (error: Error) => setProblem(error.message));
  useEffect(() => {
    const token: string | undefined = localStorage['token'];
    if (token) void submit(token);
  }, []);
  if (access) return children(access);
  if (problem === undefined) return <p role="status">Checking the token…</p>;
  return (
    <form className="access" action={(fields) => submit(String(fields.get('token')))}>
      <h1>Enter your token</h1>
      <p>Only those with the token may use the agent. It is in the file .dev.vars.</p>
      <input name="token" aria-label="Your token" placeholder="CLIENT_TOKEN" required />
      <button>Enter</button>
      {problem && <p role="alert">{problem}</p>}
    </form>
  );
}

/** Forgets the token and loads the page again, which asks for another one. */
export function forgetToken(): void {
  localStorage.removeItem('token');
  location.reload();
}

async function checkToken(token: string): Promise<Access> {
  const response = await fetch('/access', { headers: { authorization: `Bearer ${token}` } });
  if (response.status === 401)
    throw new Error('The token is wrong. The right one is in .dev.vars.');
  if (!response.ok) throw new Error(`The endpoint answered with ${response.status}.`);
  const { hasKey } = (await response.json()) as Omit<Access, 'token'>;
  localStorage['token'] = token;
  return { token, hasKey };
}
