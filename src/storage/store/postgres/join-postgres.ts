/**
 * PostgreSQL for a node that starts without it: the stores refuse all work until the node has joined, and the registry is read from the
 * copy that the node kept.
 *
 * A node joins as it starts: it checks the server, registers, and reads afterwards, here the changes since its copy. Nothing reaches
 * the server before, so that no commit, job or lease is based on a registry that the node does not follow.
 */

import { StartRefused } from '../../../foundation/runtime/start-refused.ts'
import type { Registry } from '../registry.ts'
import type { RegistryMark, RegistryReads } from '../registry-copy.ts'
import { toClientConfig } from './connection.ts'
import { migrateSchema } from './migrate-schema.ts'
import { preparePostgres, type Postgres, type PostgresOptions } from './open-postgres.ts'
import { refuseUnusable } from './refuse-unusable.ts'
import { hasMark } from './registry-snapshots.ts'

export interface LatePostgres {
  readonly postgres: Postgres
  readonly isJoined: () => boolean
  /**
   * Joins once; later calls do nothing. `register` adds the node to the list. Throws `RegistryReplaced`, another `StartRefused` if the
   * node cannot join at the moment, or the error of `register`.
   */
  join(register: () => Promise<void>): Promise<void>
}

/** The registry lacks the changes of the copy: it was restored, or is another one. */
export class RegistryReplaced extends StartRefused {}

export function openPostgresLater(
  options: PostgresOptions,
  { mark, reads }: { readonly mark: RegistryMark; readonly reads: RegistryReads },
): LatePostgres {
  const gate = { isOpen: false }
  const isJoined = (): boolean => gate.isOpen
  const onFailed = (cause: unknown): void => {
    // Failures of an attempt to join are reported by that.
    if (gate.isOpen) options.onFailed(cause)
  }
  const { connect, wake, ...postgres } = preparePostgres({ ...options, onFailed }, gate)
  const registry = withCopy(postgres.registry, { mark, reads }, isJoined)
  return {
    postgres: { ...postgres, registry },
    isJoined,
    async join(register) {
      if (gate.isOpen) return
      await refuseUnusable(toClientConfig(options), async (client) => {
        await migrateSchema(client)
        if (!(await hasMark(client, mark))) throw new RegistryReplaced('the registry lacks the changes of the copy')
      })
      await connect()
      await register()
      gate.isOpen = true
      wake()
    },
  }
}

/** Reads come from the copy until the node has joined. All else is refused by the stores until then. */
function withCopy(
  registry: Registry,
  { mark, reads }: { readonly mark: RegistryMark; readonly reads: RegistryReads },
  isJoined: () => boolean,
): Registry {
  const source = (): RegistryReads => (isJoined() ? registry : reads)
  return {
    ...registry,
    get: (kind, id) => source().get(kind, id),
    getEach: (kind, ids) => source().getEach(kind, ids),
    find: (kind, name, value) => source().find(kind, name, value),
    list: (kind, query) => source().list(kind, query),
    search: (kind, query) => source().search(kind, query),
    end: () => (isJoined() ? registry.end() : Promise.resolve(mark.position)),
  }
}
