/** The ids of the service and the names of the folder, of one kind at a time. */

import { CommandFailed } from '../exit-codes.ts'

export interface Names {
  add(kind: string, name: string, id: string): void
  /** Throws if the service has no such resource. */
  idOf(kind: string, name: string): string
  /** Returns the id itself if it has no name, such as that of a resource that was removed. */
  nameOf(kind: string, id: string): string
}

export function createNames(): Names {
  const ids = new Map<string, string>()
  const names = new Map<string, string>()
  return {
    add(kind, name, id) {
      ids.set(`${kind} ${name}`, id)
      names.set(`${kind} ${id}`, name)
    },
    idOf(kind, name) {
      const id = ids.get(`${kind} ${name}`)
      if (id === undefined) throw new CommandFailed(`There is no ${kind} named ${JSON.stringify(name)}.`)
      return id
    },
    nameOf: (kind, id) => names.get(`${kind} ${id}`) ?? id,
  }
}
