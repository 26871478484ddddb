/**
 * Finds the operation for a path in a tree of segments.
 *
 * - Concrete paths take precedence over templates, as OpenAPI requires: segment by segment from the left, with backtracking if
 *   the concrete branch has no match. A match visits each node at most once, so the search time is bounded.
 * - Percent-encoded segments are decoded before the comparison. A path with a trailing slash is a different path.
 * - The path is matched before the method: if the concrete path does not declare the method, its template is not considered.
 * - HEAD matches GET if only GET is declared (RFC 9110, 9.1: every server supports both).
 */

export interface RouteOperation {
  readonly method: string
  readonly path: string
}

import { KnownTexts } from './known-texts.ts'

export interface RouteMatch {
  /** Position in the list of operations. */
  readonly operation: number
  /** Values of the path parameters, still percent-encoded, in the order of the template. */
  readonly parameters: readonly string[]
}

export interface RouteTable {
  /**
   * Returns the operation for `method` and the path `target[from, to)`, `allowed` if the path declares only other methods, or
   * null if no path matches.
   */
  find(
    method: string,
    target: string,
    from: number,
    to: number,
  ): RouteMatch | { readonly allowed: readonly string[] } | null
  /** Returns the methods of the path with the positions of their operations; null if no path matches. */
  methodsAt(target: string, from: number, to: number): ReadonlyMap<string, number> | null
}

interface Node {
  readonly literals: Map<string, Node>
  /** Segments with text around parameters: longest text first, then alphabetically. */
  readonly mixed: { readonly parts: readonly string[]; readonly node: Node }[]
  parameter: Node | null
  /** Method → position; null on inner nodes. */
  methods: Map<string, number> | null
  plain: Map<string, RouteMatch> | null
}

const NO_PARAMETERS: readonly string[] = []
/** All tables of a thread share it. */
const segments = new KnownTexts()

export function createRouteTable(operations: readonly RouteOperation[]): RouteTable {
  const root = createNode()
  operations.forEach(({ method, path }, position) => insert(root, method, path, position))
  operations.forEach(({ method, path }, position) => {
    if (method === 'GET') insert(root, 'HEAD', path, position)
  })

  function find(method: string, target: string, from: number, to: number): ReturnType<RouteTable['find']> {
    if (from >= to) return null
    const values: string[] = []
    const node = walk(root, target, from + 1, to, values)
    if (node === null || node.methods === null) return null
    if (values.length === 0) {
      const match = node.plain?.get(method)
      if (match !== undefined) return match
    }
    const operation = node.methods.get(method)
    if (operation === undefined) return { allowed: [...node.methods.keys()] }
    return { operation, parameters: values }
  }

  function methodsAt(target: string, from: number, to: number): ReadonlyMap<string, number> | null {
    return from >= to ? null : (walk(root, target, from + 1, to, [])?.methods ?? null)
  }

  return { find, methodsAt }
}

/** Returns the node for the rest of the path from `from`, and adds the values of its parameters to `values`. */
function walk(node: Node, target: string, from: number, to: number, values: string[]): Node | null {
  let end = target.indexOf('/', from)
  if (end < 0 || end > to) end = to
  const raw = segments.slice(target, from, end)
  const segment = raw.includes('%') ? decode(raw) : raw
  const depth = values.length

  const literal = node.literals.get(segment)
  if (literal !== undefined) {
    const found = step(literal, target, end, to, values)
    if (found !== null) return found
    values.length = depth
  }
  if ((node.mixed.length > 0 || node.parameter !== null) && isLiteralWithParameters(node, raw)) return null
  for (const { parts, node: next } of node.mixed) {
    if (!matchParts(parts, segment, values)) continue
    if (segment !== raw) for (let index = depth; index < values.length; index++) encodeAt(values, index)
    const found = step(next, target, end, to, values)
    if (found !== null) return found
    values.length = depth
  }
  if (node.parameter !== null && segment !== '') {
    values.push(raw)
    const found = step(node.parameter, target, end, to, values)
    if (found !== null) return found
    values.length = depth
  }
  return null
}

/**
 * Whether a segment is a literal with path parameters (`admin;x`). Some backends ignore the part after the semicolon and would
 * serve the literal path for a call that the gateway has admitted by its template.
 */
function isLiteralWithParameters(node: Node, raw: string): boolean {
  const at = raw.indexOf(';')
  return at >= 0 && node.literals.has(decode(raw.slice(0, at)))
}

function encodeAt(values: string[], index: number): void {
  values[index] = encodeURIComponent(values[index]!)
}

function step(node: Node, target: string, end: number, to: number, values: string[]): Node | null {
  if (end < to) return walk(node, target, end + 1, to, values)
  return node.methods === null ? null : node
}

/** Matches a segment against the texts around its parameters: `{base}...{head}` is `['', '...', '']`. Values are not empty. */
function matchParts(parts: readonly string[], segment: string, values: string[]): boolean {
  const first = parts[0]!
  const last = parts[parts.length - 1]!
  const depth = values.length
  if (!segment.startsWith(first) || !segment.endsWith(last)) return false
  const end = segment.length - last.length
  let at = first.length
  for (let index = 1; index < parts.length - 1; index++) {
    const next = segment.indexOf(parts[index]!, at + 1)
    if (next < 0 || next >= end) {
      values.length = depth
      return false
    }
    values.push(segment.slice(at, next))
    at = next + parts[index]!.length
  }
  if (at >= end) {
    values.length = depth
    return false
  }
  values.push(segment.slice(at, end))
  return true
}

function insert(root: Node, method: string, path: string, position: number): void {
  let node = root
  for (const segment of path.slice(1).split('/')) node = childFor(node, segment)
  node.methods ??= new Map()
  if (node.methods.has(method)) return
  node.methods.set(method, position)
  if (!path.includes('{')) {
    node.plain ??= new Map()
    node.plain.set(method, { operation: position, parameters: NO_PARAMETERS })
  }
}

function childFor(node: Node, segment: string): Node {
  if (!segment.includes('{')) {
    const text = segment.includes('%') ? decode(segment) : segment
    let child = node.literals.get(text)
    if (child === undefined) node.literals.set(text, (child = createNode()))
    return child
  }
  const parts = segment.split(/\{[^}]*\}/).map(decode)
  if (parts.length === 2 && parts[0] === '' && parts[1] === '') return (node.parameter ??= createNode())
  const known = node.mixed.find(({ parts: other }) => other.join('{') === parts.join('{'))
  if (known !== undefined) return known.node
  const child = createNode()
  node.mixed.push({ parts, node: child })
  node.mixed.sort(byText)
  return child
}

/** Compares independently of the order in the document, so that reordering a document does not change its routes. */
function byText(one: Node['mixed'][number], other: Node['mixed'][number]): number {
  const length = (parts: readonly string[]): number => parts.reduce((sum, part) => sum + part.length, 0)
  const difference = length(other.parts) - length(one.parts)
  return difference !== 0 ? difference : one.parts.join('{') < other.parts.join('{') ? -1 : 1
}

function createNode(): Node {
  return { literals: new Map(), mixed: [], parameter: null, methods: null, plain: null }
}

/** Decodes a segment; returns it unchanged if its escapes are invalid, which only documents can contain. */
function decode(segment: string): string {
  try {
    return decodeURIComponent(segment)
  } catch {
    return segment
  }
}
