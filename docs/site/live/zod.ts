import { config } from 'zod';

// The frame's content security policy forbids `new Function`.
config({ jitless: true });

export * from 'zod';
