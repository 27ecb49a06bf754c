import { onTestFinished, vi, type Mock } from 'vitest';

/** Silences a method of the console until the test ends. */
export function spyOn(method: 'error' | 'warn'): Mock {
  const spy = vi.spyOn(console, method).mockImplementation(() => {});
  onTestFinished(() => spy.mockRestore());
  return spy;
}

/** The error of a refused request. */
export interface Refusal {
  readonly code: string;
  readonly message: string;
  readonly requestId: string;
  readonly param?: string;
}

/** Returns the status and the error of a refused request. */
export async function refusalOf(
  answer: Response | Promise<Response>,
): Promise<readonly [status: number, error: Refusal]> {
  const response = await answer;
  return [response.status, await errorOf(response)];
}

export async function errorOf(response: Response): Promise<Refusal> {
  return ((await response.json()) as { readonly error: Refusal }).error;
}
