/**
 * Adds the scopes of a new version to the credentials that held the same rights before.
 *
 * A scope is added only once: when the catalogue entry of the platform API does not list it yet. An operator can remove it again.
 */

import { PLATFORM_API } from '../../foundation/domain/platform-api.ts'
import { listAll } from '../command/page.ts'
import type { Author, Registry, Write } from '../../storage/store/registry.ts'
import { SUBSCRIPTION_KIND, subscriptionWrite } from '../subscriptions/document/subscription-document.ts'
import { CREDENTIAL_KIND, credentialWrite } from './credential-document.ts'
import { REVEAL_SCOPE } from './credentials.ts'

/** New scopes, with the scope that included them in earlier versions. */
const SPLIT: Readonly<Record<string, string>> = {
  'requests:read': 'risks:read',
  [REVEAL_SCOPE]: 'credentials:read',
}
const CREDENTIALS_MAX = 500

export interface ScopeMigrationOptions {
  readonly registry: Pick<Registry, 'list' | 'commit'>
  readonly author: Author
  /** The scopes of the platform API before and after this start. */
  readonly before: readonly string[]
  readonly after: readonly string[]
}

/** Call it before the new list of scopes is stored: an interrupted migration is repeated at the next start. */
export async function migrateScopes({ registry, author, before, after }: ScopeMigrationOptions): Promise<void> {
  const added = Object.entries(SPLIT).filter(([scope]) => after.includes(scope) && !before.includes(scope))
  if (added.length === 0) return
  const widened = (scopes: readonly string[]): readonly string[] =>
    [...new Set([...scopes, ...added.flatMap(([scope, from]) => (scopes.includes(from) ? [scope] : []))])].sort()
  for await (const { id, tenant, revision, body } of listAll(registry, SUBSCRIPTION_KIND, {
    where: { api: PLATFORM_API },
  })) {
    const credentials = await registry.list(CREDENTIAL_KIND, {
      tenant,
      where: { subscription: id },
      limit: CREDENTIALS_MAX,
    })
    const writes: readonly Write[] = [
      ...(isWider(widened, body.scopes)
        ? [subscriptionWrite(id, tenant, revision, { ...body, scopes: widened(body.scopes) })]
        : []),
      ...credentials
        .filter((each) => isWider(widened, each.body.scopes))
        .map((each) =>
          credentialWrite(each.id, tenant, each.revision, { ...each.body, scopes: widened(each.body.scopes) }),
        ),
    ]
    if (writes.length > 0) await registry.commit(author, 'platform.scopes', writes)
  }
}

function isWider(widened: (scopes: readonly string[]) => readonly string[], scopes: readonly string[]): boolean {
  return widened(scopes).length > new Set(scopes).size
}
