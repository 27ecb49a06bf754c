import { addedBudgets, loopBudgets } from './budgets.mjs';

const titles = {
  s1: 'one answer of 2,000 text deltas',
  s1t: 'the same, one network write per delta',
  s2: '10 model turns, one tool call each',
  s3: '8 parallel tool calls',
  s5: '200 new agents at once, each with 10 model turns',
};
const titleOf = (scenario) =>
  titles[scenario] ?? `${scenario.slice(3)} model turns with tool results of 4 KB`;

export const median = (values) => values.toSorted((a, b) => a - b)[values.length >> 1];
export const quantile = (values, share) =>
  values.toSorted((a, b) => a - b)[Math.min(values.length - 1, Math.floor(values.length * share))];

/** Returns a Markdown table. The first column is a name, the others are numbers. */
export function table(head, rows) {
  const marks = head.map((_, column) => (column ? '--:' : ':--'));
  return [head, marks, ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n');
}

/**
 * Returns one row per contender: median and range of the CPU time, median wall time, and the ratio
 * of the CPU time to the floor.
 */
function rowsOf(measured) {
  const floor = median(measured.floor.map((sample) => sample.cpu));
  return Object.entries(measured).map(([name, samples]) => {
    const cpu = samples.map((sample) => sample.cpu);
    const middle = median(cpu);
    const range = `${Math.min(...cpu).toFixed(2)} to ${Math.max(...cpu).toFixed(2)}`;
    return {
      name,
      cpu: middle.toFixed(2),
      range,
      wall: median(samples.map((sample) => sample.wall)).toFixed(2),
      ratio: middle / floor,
    };
  });
}

/**
 * Returns what the agent adds to its model, as a multiple of the floor's CPU time. Returns an empty
 * text if `isoloop` or `model` did not run.
 */
function addedByAgent(measured) {
  const ratios = Object.fromEntries(rowsOf(measured).map(({ name, ratio }) => [name, ratio]));
  const { isoloop, model } = ratios;
  if (isoloop === undefined || model === undefined) return '';
  return (isoloop - model).toFixed(2);
}

/** Returns the lines below a scenario's table: its budgets, and what the agent adds. */
function notesOf(scenario, measured, runtime) {
  const notes = [];
  const budget = loopBudgets[runtime]?.[scenario];
  if (budget) notes.push(`Budget of \`isoloop\`: ${budget} × the floor.`);
  const added = addedByAgent(measured);
  if (added) notes.push(`Agent minus model: ${added} × the floor.`);
  const addedBudget = addedBudgets[runtime]?.[scenario];
  if (added && addedBudget) notes.push(`Budget of the difference: ${addedBudget}.`);
  return notes;
}

export function scenarioTable(scenario, measured, runtime) {
  const lines = rowsOf(measured).map(
    ({ name, cpu, range, wall, ratio }) =>
      `${name.padEnd(16)} cpu ${cpu.padStart(8)} ms  (${range})`.padEnd(56) +
      `wall ${wall.padStart(8)} ms   ${ratio.toFixed(2).padStart(6)} x floor`,
  );
  return [...lines, ...notesOf(scenario, measured, runtime)].join('\n');
}

/** Returns one section per runtime with the ratios of all scenarios. */
export function ratioSections(runtimes) {
  return Object.entries(runtimes).map(([runtime, { version, scenarios }]) => {
    const names = Object.keys(Object.values(scenarios)[0]).filter((name) => name !== 'floor');
    const rows = Object.entries(scenarios).map(([scenario, measured]) => {
      const ratios = Object.fromEntries(rowsOf(measured).map(({ name, ratio }) => [name, ratio]));
      return [
        titleOf(scenario),
        loopBudgets[runtime]?.[scenario] ?? '',
        ...names.map((name) => ratios[name].toFixed(2)),
        addedByAgent(measured),
        addedBudgets[runtime]?.[scenario] ?? '',
      ];
    });
    const head = [
      'CPU over the floor',
      'budget',
      ...names.map((name) => `\`${name}\``),
      'agent minus model',
      'budget',
    ];
    return { heading: `${runtime} ${version}: ratios`, body: table(head, rows) };
  });
}

export function resultSections(runtimes) {
  return Object.entries(runtimes).flatMap(([runtime, { version, scenarios }]) =>
    Object.entries(scenarios).map(([scenario, measured]) => {
      const notes = notesOf(scenario, measured, runtime);
      const rows = rowsOf(measured).map(
        (row) =>
          `| \`${row.name}\` | ${row.cpu} | ${row.range} | ${row.wall} | ${row.ratio.toFixed(2)} |`,
      );
      const body = `| contender | CPU ms per run, median | range | wall ms, median | CPU over the floor |
| :-- | --: | --: | --: | --: |
${rows.join('\n')}

${notes.join(' ')}`;
      return { heading: `${runtime} ${version}: ${scenario}, ${titleOf(scenario)}`, body };
    }),
  );
}
