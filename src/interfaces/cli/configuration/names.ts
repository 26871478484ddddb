/** The ids of the service and the names of the folder, of one kind at a time. */

import { CommandFailed, EXIT_NEGATIVE } from '../exit-codes.ts'

export interface Names {
  add(kind: string, name: string, id: string): void
  /** Throws if the service has no such resource, or several. */
  idOf(kind: string, name: string): string
  /** Returns undefined if the service has no such resource any more. */
  findName(kind: string, id: string): string | undefined
}

export function createNames(): Names {
  const ids = new Map<string, string>()
  const names = new Map<string, string>()
  const ambiguous = new Set<string>()
  return {
    add(kind, name, id) {
      const key = `${kind} ${name}`
      if ((ids.get(key) ?? id) !== id) ambiguous.add(key)
      ids.set(key, id)
      names.set(`${kind} ${id}`, name)
    },
    idOf(kind, name) {
      const key = `${kind} ${name}`
      const id = ids.get(key)
      if (id === undefined) throw new CommandFailed(`There is no ${kind} named ${JSON.stringify(name)}.`, EXIT_NEGATIVE)
      if (ambiguous.has(key))
        throw new CommandFailed(`There are several ${kind}s named ${JSON.stringify(name)}.`, EXIT_NEGATIVE)
      return id
    },
    findName: (kind, id) => names.get(`${kind} ${id}`),
  }
}
