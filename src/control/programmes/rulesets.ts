/**
 * Rulesets of a tenant: Spectral ruleset documents, one of which its policy activates.
 *
 * The lint thread, which will use a ruleset, also decides whether it can be used.
 */

import type { RulesetDocument } from '../../documents/governance/ruleset-document.ts'
import { Problem } from '../../foundation/domain/problem.ts'
import type { CreateId } from '../../foundation/runtime/ids.ts'
import type { Labels } from '../../storage/store/labels.ts'
import type { Author, Document, Registry } from '../../storage/store/registry.ts'
import { commit, find, invalidAt, toTime } from '../command/commands.ts'
import type { Compliance } from './compliance.ts'
import { listPage, type Page, type PageQuery } from '../command/page.ts'
import { activeRulesetId, RULESET_KIND, type RulesetBody } from './tenant-policy.ts'

export interface Ruleset extends RulesetDocument {
  readonly labels: Labels
  readonly id: string
  readonly createdAt: string
}

export interface Rulesets {
  /** Throws `Problem('specification_invalid')` with a pointer for each fault. */
  create(author: Author, document: Partial<RulesetBody>): Promise<Ruleset>
  /** Replaces the given members. Throws `Problem('specification_invalid')` with a pointer for each fault. */
  update(author: Author, id: string, members: Partial<RulesetBody>): Promise<Ruleset>
  /** Throws `Problem('state_conflict')` if the policy of the tenant names the ruleset. */
  remove(author: Author, id: string): Promise<void>
  get(tenant: string, id: string): Promise<Ruleset>
  list(tenant: string, query: PageQuery): Promise<Page<Ruleset>>
}

export interface RulesetsOptions {
  readonly registry: Registry
  readonly createId: CreateId
  readonly compliance: Pick<Compliance, 'checkRuleset'>
}

const FAULTS_MAX = 50
const TEXT_MAX = 100_000

export function createRulesets({ registry, createId, compliance }: RulesetsOptions): Rulesets {
  /** Returns the document to store. */
  async function checked(tenant: string, { labels, ...given }: Partial<RulesetBody>): Promise<RulesetBody> {
    if (given.rules === undefined && given.extends === undefined) {
      throw invalidAt('/rules', 'A ruleset must have `rules`, `extends`, or both.')
    }
    const document: RulesetDocument = { ...given, rules: given.rules ?? {} }
    if (JSON.stringify(document).length > TEXT_MAX) {
      throw new Problem('specification_invalid', `A ruleset must not exceed ${TEXT_MAX} characters.`)
    }
    const faults = await compliance.checkRuleset(document, tenant)
    if (faults.length > 0) {
      const errors = faults.slice(0, FAULTS_MAX)
      throw new Problem('specification_invalid', 'The ruleset is invalid.', { errors })
    }
    return { ...document, ...(labels !== undefined && { labels }) }
  }

  return {
    async create(author, given) {
      const document = await checked(author.tenant, given)
      const id = createId('rst')
      const { tenant } = author
      await commit(registry, author, 'ruleset.create', [
        { kind: RULESET_KIND, id, tenant, expected: 0, body: document },
      ])
      return show(await find(registry, tenant, RULESET_KIND, id))
    },
    async update(author, id, members) {
      const { tenant, revision, body } = await find(registry, author.tenant, RULESET_KIND, id)
      const document = await checked(tenant, { ...body, ...members })
      await commit(registry, author, 'ruleset.update', [
        { kind: RULESET_KIND, id, tenant, expected: revision, body: document },
      ])
      return show(await find(registry, tenant, RULESET_KIND, id))
    },
    async remove(author, id) {
      const { tenant, revision } = await find(registry, author.tenant, RULESET_KIND, id)
      if ((await activeRulesetId(registry, tenant)) === id) {
        const extensions = { state: 'in force', allowed: ['set'] } as const
        throw new Problem('state_conflict', 'The policy of the tenant names this ruleset. Change the policy first.', {
          extensions,
        })
      }
      await commit(registry, author, 'ruleset.remove', [
        { kind: RULESET_KIND, id, tenant, expected: revision, body: null },
      ])
    },
    get: async (tenant, id) => show(await find(registry, tenant, RULESET_KIND, id)),
    list: (tenant, query) => listPage({ registry, kind: RULESET_KIND, tenant, query, where: {}, show }),
  }
}

function show({ id, body, createdAtMs }: Document<RulesetBody>): Ruleset {
  return { id, ...body, labels: body.labels ?? {}, createdAt: toTime(createdAtMs) }
}
