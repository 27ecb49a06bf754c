import type { UserConsoleLog } from 'vitest';
import type {
  Reporter,
  SerializedError,
  TestCase,
  TestModule,
  TestSpecification,
  TestSuite,
  Vitest,
} from 'vitest/node';
import type { TestReport } from './test-report.ts';

/** Vitest reporter: sends each file and test result to `npm test`, and prints failures at once. */
export class ProgressReporter implements Reporter {
  #vitest: Vitest | undefined;
  /** Text that each test has logged, by task id. Printed if the test fails. */
  readonly #logs = new Map<string, string>();
  readonly #send: (report: TestReport) => void;

  constructor(send: (report: TestReport) => void) {
    this.#send = send;
  }

  onInit(vitest: Vitest): void {
    this.#vitest = vitest;
  }

  onTestRunStart(specifications: readonly TestSpecification[]): void {
    this.#send({ type: 'files', count: specifications.length });
  }

  onTestModuleQueued({ relativeModuleId }: TestModule): void {
    this.#send({ type: 'file-start', file: relativeModuleId });
  }

  onTestModuleEnd(module: TestModule): void {
    const { relativeModuleId } = module;
    for (const error of module.errors()) this.#strayError(relativeModuleId, error);
    this.#send({ type: 'file-end', file: relativeModuleId });
  }

  onTestSuiteResult(suite: TestSuite): void {
    const title = `${suite.module.relativeModuleId} > ${suite.fullName}`;
    for (const error of suite.errors()) this.#strayError(title, error);
  }

  onUserConsoleLog({ taskId = '', content }: UserConsoleLog): void {
    this.#logs.set(taskId, (this.#logs.get(taskId) ?? '') + content);
  }

  onTestCaseReady({ module, fullName }: TestCase): void {
    this.#send({ type: 'test-start', file: module.relativeModuleId, name: fullName });
  }

  onTestCaseResult(test: TestCase): void {
    const file = test.module.relativeModuleId;
    const { state, errors = [] } = test.result();
    if (state === 'pending') return;
    for (const error of errors) this.#print(`${file} > ${test.fullName}`, error);
    const log = this.#logs.get(test.id);
    this.#logs.delete(test.id);
    if (state === 'failed' && log) this.#send({ type: 'output', text: `The test logged:\n${log}` });
    this.#send({ type: 'test-end', file, name: test.fullName, state });
  }

  onTestRunEnd(_modules: readonly TestModule[], unhandled: readonly SerializedError[]): void {
    for (const error of unhandled) this.#strayError('outside of a test', error);
  }

  #strayError(title: string, error: unknown): void {
    this.#print(title, error);
    this.#send({ type: 'stray-error' });
  }

  #print(title: string, error: unknown): void {
    this.#send({ type: 'output', text: `\nFAILED  ${title}\n` });
    this.#vitest!.logger.printError(error);
  }
}
