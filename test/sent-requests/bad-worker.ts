import { sendBadRequest } from './bad-request.ts';

// Sends a bad request in a worker, where no setup file runs.
await sendBadRequest();
