export type Connection =
  | { readonly works: true; readonly models: readonly string[] }
  | { readonly works: false; readonly problem: string };

/** Asks a server for its models, to test its address and the key. */
export async function testConnection(baseURL: string, apiKey: string): Promise<Connection> {
  const url = `${baseURL.trim().replace(/\/+$/, '')}/models`;
  try {
    const headers = apiKey ? { authorization: `Bearer ${apiKey}` } : {};
    const response = await fetch(url, { headers });
    if (!response.ok) return { works: false, problem: `${url}: ${fixOf(response.status)}` };
    const body = (await response.json()) as { readonly data?: readonly { readonly id: string }[] };
    return { works: true, models: (body.data ?? []).map(({ id }) => id) };
  } catch {
    const problem =
      `${url} can’t be reached from this page. Is the server running, ` +
      `and does it allow requests from ${location.origin} (CORS)?`;
    return { works: false, problem };
  }
}

function fixOf(status: number): string {
  if (status === 401 || status === 403) return `status ${status}. Check the key.`;
  if (status === 404) return 'status 404. Check the base URL; most end with /v1.';
  return `status ${status}. Try again later.`;
}
