const english = {
  run: 'Run',
  stop: 'Stop',
  edit: 'Edit',
  reset: 'Reset',
  inspect: 'Inspect',
  code: 'Code',
  setup: 'Setup: what the example needs before its code',
  showSetup: 'Setup: the scripted model, and what else the code needs',
  output: 'Output of the example',
  frame: 'Where the example runs',
  readOnly: 'This server only shows its examples. To run them, start the site with: npm start',
  starting: 'starting',
  running: 'running',
  done: 'done',
  failed: 'failed',
  stopped: 'stopped',
  tooLong: 'stopped after a minute',
  model: 'Model of the example',
  scripted: 'The scripted replies',
  scriptedSays: 'Written in the setup. No key, no network.',
  keyHint:
    'The key stays in the memory of this page and of the worker of the example. It is stored nowhere, and the worker can send it to this server only.',
};

const chinese: typeof english = {
  run: '运行',
  stop: '停止',
  edit: '编辑',
  reset: '还原',
  inspect: '检查',
  code: '代码',
  setup: '准备：示例代码之前要运行的部分',
  showSetup: '准备：脚本模型，以及代码需要的其他东西',
  output: '示例的输出',
  frame: '示例在这里运行',
  readOnly: '这个服务器只展示示例。要运行示例，请用 npm start 启动文档站',
  starting: '正在启动',
  running: '运行中',
  done: '完成',
  failed: '失败',
  stopped: '已停止',
  tooLong: '超过一分钟，已停止',
  model: '示例所用的模型',
  scripted: '写好的回答',
  scriptedSays: '写在准备部分里。不用密钥，也不联网。',
  keyHint: '密钥只在这个页面和示例的 Worker 的内存里，不会保存；Worker 也只能把它发给这个服务器。',
};

/** The texts of the live examples, in the language of the page. */
export const labels: typeof english = document.documentElement.lang.startsWith('zh')
  ? chinese
  : english;
