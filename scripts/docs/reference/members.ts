import type { ESTree } from 'vite';
import { asParagraph, readDocComment } from './doc-comment.ts';
import type { Declaration, DeclarationFile, DeclarationNode } from './declaration-file.ts';
import { oneLine } from './signature.ts';

/** A field or method of a type or class. */
export interface Member {
  readonly name: string;
  /** The declaration on one line, without `readonly`. */
  readonly signature: string;
  /** Its documentation as one paragraph. */
  readonly text: string;
}

/** The members that come from one base. */
export interface MemberGroup {
  /** Name of the base, or undefined for own members. */
  readonly from?: string;
  readonly members: readonly Member[];
}

/** Returns the public members of a declaration, and those of its bases that have declarations. */
export function memberGroupsOf(declaration: Declaration): readonly MemberGroup[] {
  const node = declaration.nodes[0];
  const own = node
    ? withDocsOf(interfacesOf(node, declaration), ownMembers(node, declaration.file))
    : [];
  const seen = new Set(own.map(({ name }) => name));
  const groups: MemberGroup[] = [{ members: own }];
  for (const base of node ? basesOf(node, declaration.file) : []) {
    const found = declaration.file.resolve(base.name);
    if (!found) continue;
    for (const { from, members } of memberGroupsOf(found)) {
      const inherited = members.filter(({ name }) => !seen.has(name) && base.takes(name));
      for (const { name } of inherited) seen.add(name);
      if (inherited.length > 0) groups.push({ from: from ?? base.name, members: inherited });
    }
  }
  return groups.filter(({ members }) => members.length > 0);
}

/** Gives members without documentation that of the interfaces which they implement. */
function withDocsOf(
  interfaces: readonly Declaration[],
  members: readonly Member[],
): readonly Member[] {
  const texts = new Map(
    interfaces
      .flatMap(memberGroupsOf)
      .flatMap((group) => group.members)
      .map(({ name, text }) => [name, text]),
  );
  return members.map((member) => ({
    ...member,
    text: member.text || (texts.get(member.name) ?? ''),
  }));
}

function interfacesOf(node: DeclarationNode, { file }: Declaration): readonly Declaration[] {
  if (node.type !== 'ClassDeclaration') return [];
  return ((node as ESTree.Class).implements ?? []).flatMap(
    ({ expression }) => file.resolve(file.source.slice(expression.start, expression.end)) ?? [],
  );
}

function ownMembers(node: DeclarationNode, file: DeclarationFile): readonly Member[] {
  return nodesOf(node).flatMap((member) => membersOf(member, file));
}

type MemberNode = ESTree.TSSignature | ESTree.ClassElement;

/** Returns a member. If it is a group whose members have documentation, returns these. */
function membersOf(member: MemberNode, file: DeclarationFile): readonly Member[] {
  if ('accessibility' in member && member.accessibility) return [];
  const text = oneLine(file.source.slice(member.start, member.end)).replace(/;$/, '');
  if (text.startsWith('#') || text.startsWith('private')) return [];
  const signature = text.replace(/^readonly /, '');
  const name = 'key' in member ? file.source.slice(member.key.start, member.key.end) : signature;
  const grouped = groupedNodes(member);
  if (grouped.some(({ start }) => file.docOf(start))) {
    const inGroup = grouped.flatMap((each) => membersOf(each, file));
    return inGroup.map((each) => ({
      name: `${name}.${each.name}`,
      signature: `${name}.${each.signature}`,
      text: each.text,
    }));
  }
  const { text: doc } = readDocComment(file.docOf(member.start));
  return [{ name, signature, text: asParagraph(doc) }];
}

/** Returns the members that the type of a member declares: those of a group such as `run.log`. */
function groupedNodes(member: MemberNode): readonly ESTree.TSSignature[] {
  if (member.type !== 'TSPropertySignature') return [];
  const type = member.typeAnnotation?.typeAnnotation;
  const types = type?.type === 'TSIntersectionType' ? type.types : [type];
  return types.flatMap((each) => (each?.type === 'TSTypeLiteral' ? each.members : []));
}

function nodesOf(node: DeclarationNode): readonly MemberNode[] {
  if (node.type === 'TSInterfaceDeclaration') return node.body.body;
  if (node.type === 'ClassDeclaration') return (node as ESTree.Class).body.body;
  if (node.type === 'TSTypeAliasDeclaration' && node.typeAnnotation.type === 'TSTypeLiteral')
    return node.typeAnnotation.members;
  return [];
}

interface Base {
  readonly name: string;
  /** Whether the member of the base belongs to the type. */
  takes(member: string): boolean;
}

/** Returns the bases of an interface, a class, or an intersection. Knows `Omit` and `Pick`. */
function basesOf(node: DeclarationNode, { source }: DeclarationFile): readonly Base[] {
  const textOf = ({ start, end }: ESTree.Span): string => source.slice(start, end);
  if (node.type === 'TSInterfaceDeclaration')
    return node.extends.flatMap((base) => baseOf(textOf(base)));
  if (node.type === 'ClassDeclaration') {
    const { superClass } = node as ESTree.Class;
    return superClass ? baseOf(textOf(superClass)) : [];
  }
  if (node.type === 'TSTypeAliasDeclaration' && node.typeAnnotation.type === 'TSIntersectionType')
    return node.typeAnnotation.types.flatMap((type) => baseOf(textOf(type)));
  return [];
}

function baseOf(text: string): readonly Base[] {
  const [, change, name = '', names = ''] =
    /^(?:(Omit|Pick|Partial|Required|Readonly)<)?(\w+)(?:<[^>]*>)?(?:, ([^<>]+))?/.exec(text) ?? [];
  if (name === '') return [];
  const listed = new Set([...names.matchAll(/'([^']+)'/g)].map(([, found]) => found));
  const takes = (member: string): boolean => {
    if (change === 'Omit') return !listed.has(member);
    return change === 'Pick' ? listed.has(member) : true;
  };
  return [{ name, takes }];
}
