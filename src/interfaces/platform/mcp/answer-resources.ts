/**
 * Answers the messages about resources: OpenAPI documents, OpenSLA declarations and risks.
 *
 * Each of them is read by the operation that also serves it over HTTP, so that rights, limits and records are the same.
 */

import { fieldsOf, type Fields } from '../../../foundation/json/fields.ts'
import { InvalidParams, problemOf } from './answer-tools.ts'
import type { Exchange } from './exchange.ts'
import type { PlatformTool } from './platform-tools.ts'

interface Kind {
  readonly name: string
  readonly title: string
  readonly list: string
  readonly read: string
  readonly parameter: string
  readonly describe: (item: Fields) => { readonly id: unknown; readonly name: string; readonly mimeType?: string }
}

/** Why a resource cannot be read. */
export class ResourceRefused extends Error {
  readonly status: number
  readonly problem: object

  constructor(status: number, problem: object, detail: string) {
    super(detail)
    this.status = status
    this.problem = problem
  }
}

const SCHEME = 'tollgate://'
const URI = /^tollgate:\/\/([a-z]+)\/([^/]{1,256})$/
const CURSOR = /^(\d):(.{0,5500})$/s
const PAGE_MAX = 50
const JSON_TYPE = 'application/json'

const KINDS: readonly Kind[] = [
  {
    name: 'specifications',
    title: 'OpenAPI documents',
    list: 'listOpenApiSpecs',
    read: 'getOpenApiContent',
    parameter: 'id',
    describe: ({ id, api, version, mediaType }) => ({
      ...{ id, name: `OpenAPI document of ${textOf(api)}, ${textOf(version)}`, mimeType: textOf(mediaType) },
    }),
  },
  {
    name: 'declarations',
    title: 'OpenSLA declarations',
    list: 'listOpenSlaSpecs',
    read: 'getOpenSlaContent',
    parameter: 'id',
    describe: ({ id, api, variant, version, inForce }) => {
      const state = inForce === true ? 'in force' : 'not in force'
      const name = ['OpenSLA declaration of', textOf(api), textOf(variant), textOf(version)].filter(Boolean).join(' ')
      return { id, name: `${name}, ${state}` }
    },
  },
  {
    name: 'risks',
    title: 'Risks',
    list: 'listRisks',
    read: 'getRisk',
    parameter: 'riskId',
    describe: ({ id, severity, message }) => ({
      ...{ id, name: `${textOf(severity)}: ${textOf(message)}`, mimeType: JSON_TYPE },
    }),
  },
]

/** Returns a page: the resources of one kind after the other. */
export async function listResources(exchange: Exchange, cursor: unknown): Promise<Fields> {
  const isPermitted = await exchange.permitted()
  const [, first = '', inner = ''] = cursor === undefined ? ['', '0', ''] : (CURSOR.exec(textOf(cursor)) ?? [])
  let at = Number(first)
  if (first === '' || at >= KINDS.length) throw new InvalidParams('The cursor is invalid; start again without one.')
  for (let from = inner; at < KINDS.length; at++, from = '') {
    const kind = KINDS[at]!
    const tool = toolOf(exchange, kind.list)
    if (!isPermitted(tool.declaration)) continue
    const page = await listKind(exchange, kind, tool, from)
    const next = page.next === null ? (at + 1 < KINDS.length ? `${at + 1}:` : null) : `${at}:${page.next}`
    if (page.resources.length > 0) return { resources: page.resources, ...(next !== null && { nextCursor: next }) }
  }
  return { resources: [] }
}

export async function listTemplates(exchange: Exchange): Promise<Fields> {
  const isPermitted = await exchange.permitted()
  const found = KINDS.filter(({ read }) => isPermitted(toolOf(exchange, read).declaration))
  const resourceTemplates = found.map(({ name, title, parameter }) => ({
    ...{ uriTemplate: `${SCHEME}${name}/{${parameter}}`, name, title },
  }))
  return { resourceTemplates }
}

/** Whether reading the resource calls an operation. */
export function isResource(uri: unknown): boolean {
  return findResource(uri) !== null
}

/** Throws `ResourceRefused` if the resource does not exist or may not be read. */
export async function readResource(exchange: Exchange, uri: string): Promise<Fields> {
  const found = findResource(uri)
  if (found === null) throw new ResourceRefused(404, {}, 'There is no resource with this address.')
  const { kind, id } = found
  const answer = await exchange.call(toolOf(exchange, kind.read), { [kind.parameter]: id })
  const problem = problemOf(answer)
  if (problem !== null) throw new ResourceRefused(answer.status, problem, problem.detail)
  if (answer.isCut) throw new ResourceRefused(413, {}, 'The resource is too long for a message; read it over HTTP.')
  const mimeType = answer.contentType?.split(';', 1)[0] ?? JSON_TYPE
  return { contents: [{ uri, mimeType, text: answer.body.toString() }] }
}

function findResource(uri: unknown): { readonly kind: Kind; readonly id: string } | null {
  const [, name, id = ''] = typeof uri === 'string' ? (URI.exec(uri) ?? []) : []
  const kind = KINDS.find((each) => each.name === name)
  if (kind === undefined) return null
  try {
    return { kind, id: decodeURIComponent(id) }
  } catch {
    return null
  }
}

async function listKind(
  exchange: Exchange,
  kind: Kind,
  tool: PlatformTool,
  cursor: string,
): Promise<{ readonly resources: readonly Fields[]; readonly next: string | null }> {
  const answer = await exchange.call(tool, { limit: PAGE_MAX, ...(cursor !== '' && { cursor }) })
  const problem = problemOf(answer)
  if (problem !== null && problem.code === 'cursor_invalid') throw new InvalidParams(problem.detail)
  if (problem !== null) throw new ResourceRefused(answer.status, problem, problem.detail)
  if (answer.isCut) throw new ResourceRefused(413, {}, 'The list is too long for a message; read it over HTTP.')
  const { items, next } = fieldsOf(JSON.parse(answer.body.toString()))
  const resources = (Array.isArray(items) ? (items as unknown[]) : []).map((item) => toResource(kind, fieldsOf(item)))
  return { resources, next: typeof next === 'string' ? next : null }
}

function toResource({ name: kind, describe }: Kind, item: Fields): Fields {
  const { id, ...shown } = describe(item)
  return { uri: `${SCHEME}${kind}/${encodeURIComponent(textOf(id))}`, ...shown }
}

function toolOf({ tools }: Exchange, operationId: string): PlatformTool {
  const tool = tools.all.get(operationId)
  if (tool === undefined) throw new Error(`${operationId} is no tool`)
  return tool
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : ''
}
