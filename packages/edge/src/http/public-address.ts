/**
 * Returns why a host is not on the public internet, or `undefined` if it may be public. Expects the
 * `hostname` of a `URL`, because the URL parser normalizes IPv4 addresses that are octal,
 * hexadecimal or one number. Checks only the name, without resolving it.
 */
export function privateReason(hostname: string): string | undefined {
  const host = hostname.toLowerCase().replace(/\.$/, '');
  if (host.startsWith('[')) return privateIpv6(host.slice(1, -1));
  const octets = /^(\d+)\.(\d+)\.(\d+)\.(\d+)$/.exec(host);
  if (octets) return privateIpv4(octets.slice(1).map(Number));
  if (/^$|^\.|\.\.|\.$/.test(host)) return 'a name with an empty part';
  if (!host.includes('.')) return 'a name without a domain';
  const ending = privateEndings.find((name) => `.${host}`.endsWith(name));
  if (ending) return `a name in "${ending}"`;
  // Services such as nip.io resolve a name to the address that the name contains.
  const embedded = /(?:^|[.-])(\d{1,3})[.-](\d{1,3})[.-](\d{1,3})[.-](\d{1,3})(?:[.-]|$)/.exec(
    host,
  );
  return embedded ? privateIpv4(embedded.slice(1).map(Number)) : undefined;
}

/** Names of local networks and clusters, and public names that lead to private addresses. */
const privateEndings: readonly string[] = [
  'localhost localdomain localdomain6 local internal intranet intra private priv corp home lan mail domain',
  'workgroup router gateway svc pod default consul nomad docker kube onion i2p alt test invalid',
  'home.arpa in-addr.arpa ip6.arpa fritz.box mshome.net metadata.goog metadata.tencentyun.com',
  'localtest.me lvh.me vcap.me fuf.me traefik.me lacolhost.com local.gd localho.st lcl.host',
  'localhost.direct loopback.jp localh.st lndo.site ddev.site nip.io sslip.io xip.io backname.io rbndr.us 1u.ms',
].flatMap((names) => names.split(' ').map((name) => `.${name}`));

type Range = readonly [first: number, bits: number, what: string];

/**
 * Ranges of IANA's special-purpose registry that are not globally reachable, and addresses of
 * metadata services.
 */
const ipv4Ranges: readonly Range[] = (
  [
    ['0.0.0.0', 8, 'this network'],
    ['10.0.0.0', 8, 'a private network'],
    ['100.64.0.0', 10, 'a carrier network'],
    ['127.0.0.0', 8, 'this machine'],
    ['169.254.0.0', 16, 'link-local, or a metadata service'],
    ['172.16.0.0', 12, 'a private network'],
    ['192.0.0.0', 24, 'a protocol assignment'],
    ['192.0.2.0', 24, 'documentation'],
    ['192.31.196.0', 24, 'a name server of private addresses'],
    ['192.52.193.0', 24, 'a relay'],
    ['192.88.99.0', 24, 'a relay'],
    ['192.168.0.0', 16, 'a private network'],
    ['192.175.48.0', 24, 'a name server of private addresses'],
    ['198.18.0.0', 15, 'benchmarking'],
    ['198.51.100.0', 24, 'documentation'],
    ['203.0.113.0', 24, 'documentation'],
    ['168.63.129.16', 32, 'a metadata service'],
    ['100.100.100.200', 32, 'a metadata service'],
    ['224.0.0.0', 3, 'multicast or reserved'],
  ] as const
).map(([address, bits, what]) => [toNumber(address.split('.').map(Number)), bits, what]);

function toNumber(octets: readonly number[]): number {
  return octets.reduce((sum, octet) => sum * 256 + octet, 0);
}

function privateIpv4(octets: readonly number[]): string | undefined {
  const address = toNumber(octets);
  return ipv4Ranges.find(
    ([first, bits]) =>
      Math.floor(address / 2 ** (32 - bits)) === Math.floor(first / 2 ** (32 - bits)),
  )?.[2];
}

/**
 * Returns why an IPv6 address is not public, or `undefined` if it may be public. Expects the form
 * of the URL parser, without a zone and without dotted numbers. Only global unicast addresses,
 * `2000::/3`, can be public.
 */
function privateIpv6(text: string): string | undefined {
  const words = wordsOf(text);
  const [a = 0, b = 0] = words;
  const ipv4At = (index: number): readonly number[] =>
    words.slice(index, index + 2).flatMap((word) => [word >> 8, word & 255]);
  const zeros = words.slice(0, 5).every((word) => word === 0);
  // Checks the IPv4 address inside mapped, compatible, translated (RFC 6052) and 6to4 addresses.
  if (zeros && (words[5] === 0xffff || words[5] === 0))
    return privateIpv4(ipv4At(6)) ?? (words[5] === 0 ? 'an old form of IPv4' : undefined);
  const isTranslated = a === 0x64 && b === 0xff9b && words.slice(2, 6).every((word) => word === 0);
  if (isTranslated) return privateIpv4(ipv4At(6));
  return a === 0x2002 ? privateIpv4(ipv4At(1)) : reservedIpv6(words);
}

/** Returns the eight words of an address. */
function wordsOf(text: string): readonly number[] {
  const words = (part: string): readonly number[] =>
    part ? part.split(':').map((word) => Number.parseInt(word, 16)) : [];
  const [head = [], tail = []] = text.split('::').map(words);
  return [...head, ...Array.from({ length: 8 - head.length - tail.length }, () => 0), ...tail];
}

function reservedIpv6([a = 0, b = 0, c = 0]: readonly number[]): string | undefined {
  if (a >> 13 !== 1) return 'no global address';
  if (a === 0x2001 && (b < 0x200 || b === 0xdb8)) return 'a protocol assignment or documentation';
  if (a === 0x2620 && b === 0x4f && c === 0x8000) return 'a name server of private addresses';
  if (a === 0x3fff && b < 0x1000) return 'documentation';
  return undefined;
}
