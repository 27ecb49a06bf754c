import type { RunDriver } from './run-driver.ts';

/** The driver of each agent's last stream. */
const drivers: WeakMap<object, RunDriver> = new WeakMap();

export function keepDriver(agent: object, driver: RunDriver): void {
  drivers.set(agent, driver);
}

export function lastDriver(agent: object): RunDriver | undefined {
  return drivers.get(agent);
}
