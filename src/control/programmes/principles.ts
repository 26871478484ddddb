/** Design principles of a tenant, and the governance rules that enforce them. */

import type { CreateId } from '../../foundation/runtime/ids.ts'
import type { Labelled, Labels } from '../../storage/store/labels.ts'
import { documentKind, type Author, type Document, type Registry } from '../../storage/store/registry.ts'
import { commit, find, removeDocument, toTime } from '../command/commands.ts'
import { listPage, type Page, type PageQuery } from '../command/page.ts'

export interface PrincipleInput extends Labelled {
  readonly name: string
  readonly statement: string
  readonly rationale: string
  readonly rules?: readonly string[]
}

export interface Principle extends PrincipleInput {
  readonly id: string
  readonly rules: readonly string[]
  readonly labels: Labels
  readonly createdAt: string
}

export interface Principles {
  create(author: Author, input: PrincipleInput): Promise<Principle>
  update(author: Author, id: string, change: Partial<PrincipleInput>): Promise<Principle>
  remove(author: Author, id: string): Promise<void>
  get(tenant: string, id: string): Promise<Principle>
  list(tenant: string, query: PageQuery): Promise<Page<Principle>>
}

export const PRINCIPLE_KIND = documentKind<PrincipleInput>('principle', [
  'name',
  'statement',
  'rationale',
  'rules',
  'labels',
])

export function createPrinciples({ registry, createId }: { registry: Registry; createId: CreateId }): Principles {
  return {
    async create(author, input) {
      const { tenant } = author
      const id = createId('pri')
      await commit(registry, author, 'principle.create', [
        { kind: PRINCIPLE_KIND, id, tenant, expected: 0, body: input },
      ])
      return show(await find(registry, tenant, PRINCIPLE_KIND, id))
    },
    async update(author, id, change) {
      const { tenant, revision, body } = await find(registry, author.tenant, PRINCIPLE_KIND, id)
      await commit(registry, author, 'principle.update', [
        { kind: PRINCIPLE_KIND, id, tenant, expected: revision, body: { ...body, ...change } },
      ])
      return show(await find(registry, tenant, PRINCIPLE_KIND, id))
    },
    remove: (author, id) => removeDocument(registry, author, 'principle.remove', PRINCIPLE_KIND, id),
    get: async (tenant, id) => show(await find(registry, tenant, PRINCIPLE_KIND, id)),
    list: (tenant, query) => listPage({ registry, kind: PRINCIPLE_KIND, tenant, query, where: {}, show }),
  }
}

function show({ id, body, createdAtMs }: Document<PrincipleInput>): Principle {
  return { id, ...body, rules: body.rules ?? [], labels: body.labels ?? {}, createdAt: toTime(createdAtMs) }
}
