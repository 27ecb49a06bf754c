import { tool, type Tool } from '@isoloop/core';
import * as z from 'zod';
import type { AroundTool } from './around-tool.ts';

/** The storage of the play money: IndexedDB in a tab, KV at the edge. */
export interface AccountStore {
  read(): Promise<number | undefined>;
  write(coins: number): Promise<void>;
}

const coinsAtFirst = 100;

/** Pays play money. A person must approve each payment and can change it. */
export function payTool(account: AccountStore, around: AroundTool): Tool {
  return tool({
    name: 'pay',
    description: `Pays coins of play money to somebody. The account starts with ${coinsAtFirst} coins.`,
    input: z.object({ to: z.string().min(1).max(100), coins: z.number().int().positive() }),
    needsApproval: true,
    execute: ({ to, coins }, context) =>
      around(context, async () => {
        const owned = (await account.read()) ?? coinsAtFirst;
        if (coins > owned) throw new Error(`The account has only ${owned} coins.`);
        const left = owned - coins;
        await account.write(left);
        return { paid: coins, to, left };
      }),
  });
}
