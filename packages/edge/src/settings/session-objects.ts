/** The part of a Durable Object namespace that the routes use. */
export interface SessionNamespace {
  idFromName(name: string): string;
  get(key: string): { fetch(url: string, init: RequestInit): Promise<Response> };
}
