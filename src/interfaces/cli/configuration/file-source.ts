/**
 * The files of a configuration: of a folder on disk, or as a plan keeps them.
 *
 * Paths stay inside the folder, also through links, because its author need not be the person who applies it.
 */

import { globSync, readFileSync, realpathSync, statSync } from 'node:fs'
import { basename, join, posix, relative, resolve, sep } from 'node:path'
import { CommandFailed } from '../exit-codes.ts'

export interface FileSource {
  /** YAML files, in alphabetical order. */
  readonly files: readonly string[]
  /** Throws a sentence if there is no such file in the folder. */
  read(this: void, path: string): string
  /** The texts that were read so far, by path. */
  taken(): Readonly<Record<string, string>>
}

const FILE_BYTES_MAX = 16 * 1024 * 1024
const FILES_MAX = 10_000
const CHARACTERS_MAX = 128 * 1024 * 1024
/** Folders of tools, which the author of the configuration does not write. */
const LEFT_OUT = /^(?:\.|node_modules$)/

export function openFolder(dir: string): FileSource {
  const root = realRoot(dir)
  const files = globSync('**/*.{yaml,yml}', { cwd: root, exclude: (name) => LEFT_OUT.test(basename(name)) })
  if (files.length > FILES_MAX) throw new CommandFailed(`${dir} has more than ${FILES_MAX} files.`)
  const paths = files.map((file) => file.split(sep).join('/')).sort()
  return createSource(paths, (path) => readInside(root, path))
}

export function openKept(texts: Readonly<Record<string, string>>): FileSource {
  const files = Object.keys(texts).filter((path) => /\.ya?ml$/.test(path))
  return createSource(files.sort(), (path) => {
    if (!Object.hasOwn(texts, path)) throw new CommandFailed(`The plan has no file ${path}.`)
    return texts[path]!
  })
}

function createSource(files: readonly string[], read: (path: string) => string): FileSource {
  const texts = new Map<string, string>()
  let characters = 0
  return {
    files,
    read(given) {
      const path = posix.normalize(given)
      let text = texts.get(path)
      if (text !== undefined) return text
      text = read(path)
      characters += text.length
      if (characters > CHARACTERS_MAX) throw new CommandFailed('The files of the folder are larger than 128 MB.')
      texts.set(path, text)
      return text
    },
    taken: () => Object.fromEntries(texts),
  }
}

function realRoot(dir: string): string {
  try {
    if (statSync(dir).isDirectory()) return realpathSync(dir)
  } catch {
    throw new CommandFailed(`${dir} cannot be read.`)
  }
  throw new CommandFailed(`${dir} is not a folder.`)
}

function readInside(root: string, path: string): string {
  try {
    const real = realpathSync(resolve(root, path))
    const inside = relative(root, real)
    if (inside === '..' || inside.startsWith(`..${sep}`) || resolve(root, inside) !== real) {
      throw new CommandFailed(`${path} is outside the folder.`)
    }
    const stats = statSync(real)
    // To read a pipe or a device may never end.
    if (!stats.isFile()) throw new CommandFailed(`${path} is no file.`)
    if (stats.size > FILE_BYTES_MAX) throw new CommandFailed(`${path} is larger than 16 MB.`)
    return readFileSync(join(root, inside), 'utf8')
  } catch (cause) {
    if (cause instanceof CommandFailed) throw cause
    throw new CommandFailed(`${path} cannot be read.`)
  }
}
