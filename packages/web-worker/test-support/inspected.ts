import { onTestFinished } from 'vitest';
import { cdp } from 'vitest/browser';

/** A page's frame or a worker, seen through the browser's debugging protocol. */
export interface Inspected {
  /**
   * Counts the live objects of each class after a garbage collection. The classes must be globals
   * of the target.
   */
  count(classes: readonly string[]): Promise<Readonly<Record<string, number>>>;
  /** Returns the bytes of the heap after a garbage collection. */
  heap(): Promise<number>;
}

type Send = (method: string, params?: object) => Promise<unknown>;

interface TargetInfo {
  readonly type: string;
  readonly url: string;
}

const page = cdp();
const sendToPage = page.send.bind(page) as unknown as Send;

/** Inspects the frame in which these tests run. */
export async function inspectFrame(): Promise<Inspected> {
  return inspect(sendToPage, await findContext());
}

/** Inspects the worker that `start` creates. */
export async function inspectWorker(
  start: () => Worker,
): Promise<{ readonly worker: Worker; readonly inspected: Inspected }> {
  const answers = new Map<number, (result: unknown) => void>();
  page.on('Target.receivedMessageFromTarget', ({ message }) => {
    const { id, result } = JSON.parse(message) as { readonly id: number; readonly result: unknown };
    answers.get(id)?.(result);
  });
  // `flatten: false` is deprecated, but this session can message another target only with it.
  const attach = (autoAttach: boolean) =>
    sendToPage('Target.setAutoAttach', {
      autoAttach,
      waitForDebuggerOnStart: false,
      flatten: false,
    });
  await attach(true);
  onTestFinished(async () => void (await attach(false)));
  // Listens only after `attach`, because `attach` also reports the workers of earlier tests.
  const attached = new Promise<string>((resolve) => {
    page.on(
      'Target.attachedToTarget',
      ({
        sessionId,
        targetInfo,
      }: {
        readonly sessionId: string;
        readonly targetInfo: TargetInfo;
      }) => {
        if (targetInfo.type === 'worker') resolve(sessionId);
      },
    );
  });
  const worker = start();
  const sessionId = await attached;
  let lastId = 0;
  const send: Send = (method, params) =>
    new Promise((resolve, reject) => {
      const id = ++lastId;
      answers.set(id, resolve);
      sendToPage('Target.sendMessageToTarget', {
        sessionId,
        message: JSON.stringify({ id, method, params }),
      }).catch(reject);
    });
  return { worker, inspected: inspect(send) };
}

function inspect(send: Send, contextId?: number): Inspected {
  const alive = async (className: string): Promise<number> => {
    const objectGroup = 'counted';
    const where = contextId === undefined ? {} : { contextId };
    const prototype = (await send('Runtime.evaluate', {
      expression: `${className}.prototype`,
      objectGroup,
      ...where,
    })) as {
      readonly result: { readonly objectId: string };
    };
    const { objects } = (await send('Runtime.queryObjects', {
      prototypeObjectId: prototype.result.objectId,
      objectGroup,
    })) as {
      readonly objects: { readonly objectId: string };
    };
    const { result } = (await send('Runtime.callFunctionOn', {
      objectId: objects.objectId,
      functionDeclaration: 'function () { return this.length; }',
      returnByValue: true,
    })) as { readonly result: { readonly value: number } };
    await send('Runtime.releaseObjectGroup', { objectGroup });
    return result.value;
  };
  return {
    async count(classes) {
      await send('HeapProfiler.collectGarbage');
      const counts: Record<string, number> = {};
      for (const name of classes) counts[name] = await alive(name);
      return counts;
    },
    async heap() {
      await send('HeapProfiler.collectGarbage');
      return ((await send('Runtime.getHeapUsage')) as { readonly usedSize: number }).usedSize;
    },
  };
}

/** Finds the execution context of these tests, because objects are counted per context. */
async function findContext(): Promise<number> {
  const ids: number[] = [];
  const onCreated = ({
    context: { id, auxData },
  }: {
    readonly context: { readonly id: number; readonly auxData?: object };
  }): void => {
    // Each frame also has an isolated world of the test runner. The tests run in the default world.
    if ((auxData as { readonly isDefault?: boolean } | undefined)?.isDefault) ids.push(id);
  };
  page.on('Runtime.executionContextCreated', onCreated);
  await page.send('Runtime.enable');
  page.off('Runtime.executionContextCreated', onCreated);
  // While `Runtime` is enabled, the browser sends its events, even after the tests.
  await page.send('Runtime.disable');
  window.name = `counted-${crypto.randomUUID()}`;
  for (const id of ids) {
    const { result } = await page.send('Runtime.evaluate', { expression: 'name', contextId: id });
    if (result.value === window.name) return id;
  }
  throw new Error('The execution context of the tests was not found.');
}
