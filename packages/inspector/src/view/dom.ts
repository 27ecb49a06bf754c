/** Part of the content of an element. Empty parts are left out. */
export type Child = Node | string | false | undefined;

/** Attributes and listeners of an element. `true` sets an attribute without a value. */
interface Props {
  readonly [name: string]: string | number | boolean | undefined | ((event: never) => void);
}

/** Creates an element. Keys that begin with `on` are listeners, such as `onclick`. */
export function el<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  props: Props = {},
  ...children: readonly Child[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(props)) {
    if (typeof value === 'function')
      element.addEventListener(name.slice(2), value as EventListener);
    else if (value !== undefined && value !== false)
      element.setAttribute(name, value === true ? '' : String(value));
  }
  fill(element, children);
  return element;
}

/** Replaces the content of an element. */
export function fill(element: HTMLElement, children: readonly Child[]): void {
  element.replaceChildren(...children.filter(isShown));
}

function isShown(child: Child): child is Node | string {
  return child !== undefined && child !== false && child !== '';
}

/** A part of the page that shows a value and stays when the value changes. */
export interface Part<T> {
  readonly node: HTMLElement;
  update(value: T): void;
}

/**
 * Returns a function that shows a list in `parent`. Items with a known key keep their element, so
 * that open rows, focus and the place of the reader stay.
 */
export function keyedList<T>(
  parent: HTMLElement,
  keyOf: (item: T) => string,
  create: (item: T) => Part<T>,
): (items: readonly T[]) => void {
  const parts: Map<string, Part<T>> = new Map();
  return (items) => {
    const keys = new Set(items.map(keyOf));
    for (const [key, { node }] of parts) {
      if (keys.has(key)) continue;
      node.remove();
      parts.delete(key);
    }
    let nextNode: Element | null = parent.firstElementChild;
    for (const item of items) {
      const key = keyOf(item);
      const earlierPart = parts.get(key);
      const part = earlierPart ?? create(item);
      parts.set(key, part);
      part.update(item);
      if (part.node === nextNode) nextNode = nextNode.nextElementSibling;
      else parent.insertBefore(part.node, nextNode);
    }
  };
}
