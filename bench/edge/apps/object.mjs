// The floor of an idle session: a Durable Object with one table. Each request writes one row.
export class ChatSession {
  #sql;

  constructor({ storage }) {
    this.#sql = storage.sql;
    this.#sql.exec('CREATE TABLE IF NOT EXISTS turns (id TEXT PRIMARY KEY, value TEXT)');
  }

  fetch() {
    this.#sql.exec('INSERT INTO turns VALUES (?, ?)', crypto.randomUUID(), 'x'.repeat(500));
    return new Response('stored');
  }
}

export const app = {
  fetch(request, { CHAT_SESSION: objects }) {
    const name = request.headers.get('x-object');
    if (!name) return new Response('ready');
    return objects.get(objects.idFromName(name)).fetch(request);
  },
};
