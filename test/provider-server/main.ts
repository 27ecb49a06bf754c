import { startProviderServer } from './provider-server.ts';

const { url } = await startProviderServer({ port: Number(process.argv[2] ?? 8788) });
console.log(`Provider server: ${url}/scripted/v1 (see README.md for the other routes)`);
