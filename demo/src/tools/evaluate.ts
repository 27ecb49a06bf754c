/** Precedence of the binary operators; `^` binds to the right. */
const precedence: Readonly<Record<string, number>> = {
  '+': 1,
  '-': 1,
  '*': 2,
  '/': 2,
  '%': 2,
  '^': 3,
};

/**
 * The value of an arithmetic expression: numbers, + - * / % ^, parentheses, signs; also with × ÷
 * and full-width characters. Throws an `Error` that says what is wrong.
 */
export function evaluate(expression: string): number {
  const tokens = tokenize(expression);
  let position = 0;

  const operand = (): number => {
    const token = tokens[position++];
    if (token === undefined) throw new Error('The expression ends too early.');
    if (token === '-') return -binary(3);
    if (token === '+') return binary(3);
    if (token === '(') {
      const value = binary(1);
      if (tokens[position++] !== ')') throw new Error('A parenthesis is not closed.');
      return value;
    }
    const value = Number(token);
    if (Number.isNaN(value)) throw new Error(`"${token}" is out of place.`);
    return value;
  };

  const binary = (least: number): number => {
    let left = operand();
    for (let operator = tokens[position]; operator !== undefined; operator = tokens[position]) {
      const own = precedence[operator];
      if (own === undefined || own < least) break;
      position += 1;
      left = apply(operator, left, binary(operator === '^' ? own : own + 1));
    }
    return left;
  };

  const value = binary(1);
  if (position < tokens.length) throw new Error(`"${tokens[position]}" is out of place.`);
  if (!Number.isFinite(value)) throw new Error('The result is not a finite number.');
  return Number(value.toPrecision(12));
}

function tokenize(expression: string): readonly string[] {
  const text = expression
    .normalize('NFKC')
    .replaceAll('×', '*')
    .replaceAll('÷', '/')
    .replace(/(\d),(?=\d{3}\b)/g, '$1');
  const tokens = text.match(/\d+(?:\.\d+)?|\.\d+|\S/g) ?? [];
  if (tokens.length > 200) throw new Error('The expression is too long.');
  return tokens;
}

function apply(operator: string, left: number, right: number): number {
  switch (operator) {
    case '+':
      return left + right;
    case '-':
      return left - right;
    case '*':
      return left * right;
    case '/':
      return left / right;
    case '%':
      return left % right;
    default:
      return left ** right;
  }
}
