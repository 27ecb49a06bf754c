import * as z from 'zod';

/** What the example of an object reads from a letter. */
export const invitation = z.object({
  from: z.string().describe('Who writes the letter'),
  day: z.string().describe('The weekday'),
  time: z.string().describe('Hours and minutes'),
  guests: z.array(z.string()).describe('Who else comes'),
  bring: z.array(z.string()).describe('What to bring'),
});

export type Invitation = z.infer<typeof invitation>;
