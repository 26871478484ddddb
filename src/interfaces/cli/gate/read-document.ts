/**
 * Reads a document with the files that it refers to, and finds the places of its parts in them.
 *
 * Only files below the root folder are read: that of the document, unless an option names another one. Links are resolved first.
 * Nothing is fetched from the network.
 */

import { realpath } from 'node:fs/promises'
import { basename, dirname, join, posix, relative, sep } from 'node:path'
import type { Readable } from 'node:stream'
import { findPlaces } from '../../../documents/governance/lint/places.ts'
import { parseDocumentBytes } from '../../../documents/governance/parse-document.ts'
import { Bundler, BundleFault, type Bundle } from '../bundle/bundle.ts'
import { loadFiles, type Loaded } from '../bundle/load-files.ts'
import type { ReportPlace } from '../report/report.ts'
import { isGitName, splitGitName } from './git-file.ts'
import { InputFault } from './input-fault.ts'
import { readFileInput, readInput, STANDARD_INPUT, type Input } from './read-input.ts'

export interface DocumentInput extends Input {
  /** Null: the document is one file. */
  readonly sources: Sources | null
}

/** The files of which a document was made. */
export interface Sources {
  /** Sentences by the pointer of a reference that could not be followed. */
  readonly faults: ReadonlyMap<string, string>
  /** Finds the places of all pointers at once. */
  findPlaces(pointers: Iterable<string>): (pointer: string) => ReportPlace
}

/** The folder of the document and how to name and read its files. */
interface Folder {
  /** The path of the document relative to the folder. */
  readonly file: string
  toName(file: string): string
  /** Throws `InputFault`. */
  read(file: string): Promise<Uint8Array>
}

/** A reference that does not begin with #, in JSON or YAML. */
const EXTERNAL = /\$ref["']?\s*:\s*["']?[^#"'\s]/

/** Throws `InputFault` with one sentence if the input cannot be read. `root`: null for the folder of the document. */
export async function readDocument(name: string, root: string | null, stdin: Readable): Promise<DocumentInput> {
  const input = await readInput(name, stdin)
  const parsed = EXTERNAL.test(new TextDecoder().decode(input.bytes)) ? parse(input.bytes) : null
  if (parsed === null || 'fault' in parsed) return { ...input, sources: null }
  const folder = await openFolder(name, root, stdin)
  const files = await loadFiles(folder.file, parsed, (file) => loadFrom(folder, file))
  const bundle = toBundle(input.file, folder.file, files)
  if (files.size === 1 && bundle.faults.size === 0) return { ...input, sources: null }
  return {
    file: input.file,
    bytes: Buffer.from(JSON.stringify(bundle.document)),
    sources: {
      faults: bundle.faults,
      findPlaces: (pointers) => placesIn(bundle, folder, files, pointers),
    },
  }
}

async function loadFrom(folder: Folder, file: string): Promise<Loaded> {
  try {
    const loaded = parse(await folder.read(file))
    return 'fault' in loaded ? { fault: `${folder.toName(file)}: ${loaded.fault}` } : loaded
  } catch (cause) {
    if (!(cause instanceof InputFault)) throw cause
    return { fault: cause.message }
  }
}

function parse(bytes: Uint8Array): Loaded {
  const parsed = parseDocumentBytes(bytes)
  if ('value' in parsed) return { value: parsed.value, isJson: parsed.mediaType === 'application/json', bytes }
  const { fault, place } = parsed
  return { fault: place === undefined ? fault : `${fault.slice(0, -1)} (line ${place.line}, column ${place.column}).` }
}

function toBundle(file: string, path: string, files: ReadonlyMap<string, Loaded>): Bundle {
  try {
    return new Bundler(path, files).bundle()
  } catch (cause) {
    if (!(cause instanceof BundleFault)) throw cause
    throw new InputFault(file, `${file}: ${cause.message}`, { cause })
  }
}

/** Standard input has no folder unless `root` names one. */
async function openFolder(name: string, root: string | null, stdin: Readable): Promise<Folder> {
  if (isGitName(name)) {
    const { ref, path } = splitGitName(name)
    return openGitFolder(ref, path, root ?? posix.dirname(path), stdin)
  }
  if (name === STANDARD_INPUT && root === null) {
    const fault = new InputFault(name, 'Standard input has no folder; --root names one.')
    return { file: name, toName: () => 'stdin', read: () => Promise.reject(fault) }
  }
  const top = await realFolder(root ?? dirname(name))
  // The document itself may be a link.
  const file = name === STANDARD_INPUT ? name : relative(top, join(await realpath(dirname(name)), basename(name)))
  if (file === '..' || file.startsWith(`..${sep}`)) {
    throw new InputFault(name, `${name} is not below the folder ${root ?? '.'} that --root names.`)
  }
  const toName = (path: string): string => relative(process.cwd(), join(top, path))
  return {
    file: file.split(sep).join('/'),
    toName,
    async read(path) {
      const real = await realpath(join(top, path)).catch(() => join(top, path))
      if (!real.startsWith(top.endsWith(sep) ? top : top + sep)) {
        throw new InputFault(path, `${toName(path)} is a link that leaves the folder of the document.`)
      }
      return (await readFileInput(real, toName(path))).bytes
    },
  }
}

async function realFolder(folder: string): Promise<string> {
  return realpath(folder).catch((cause: unknown) => {
    throw new InputFault(folder, `--root ${folder}: there is no such folder.`, { cause })
  })
}

/** Git answers a link with the path that it holds, and so never follows one. */
function openGitFolder(ref: string, path: string, top: string, stdin: Readable): Folder {
  const file = posix.relative(top, path)
  if (file.startsWith('../')) throw new InputFault(path, `${path} is not below the folder ${top} that --root names.`)
  const prefix = path.startsWith('./') ? './' : ''
  const toName = (each: string): string => `git:${ref}:${prefix}${posix.join(top, each)}`
  return { file, toName, read: async (each) => (await readInput(toName(each), stdin)).bytes }
}

function placesIn(
  { origins }: Bundle,
  folder: Folder,
  files: ReadonlyMap<string, Loaded>,
  pointers: Iterable<string>,
): (pointer: string) => ReportPlace {
  const originOf = (pointer: string) => {
    for (let at = pointer; at !== ''; at = at.slice(0, at.lastIndexOf('/'))) {
      const origin = origins.get(at)
      if (origin !== undefined) return { file: origin.file, pointer: origin.pointer + pointer.slice(at.length) }
    }
    return { file: folder.file, pointer }
  }
  const targets = [...pointers].map(originOf)
  const placeOf = new Map(
    [...Map.groupBy(targets, ({ file }) => file)].map(([file, items]) => {
      const loaded = files.get(file)
      const isRead = loaded !== undefined && 'bytes' in loaded
      const text = isRead ? new TextDecoder().decode(loaded.bytes) : ''
      const inFile = items.map(({ pointer }) => pointer)
      return [file, findPlaces(text, isRead && loaded.isJson, inFile)]
    }),
  )
  return (given) => {
    const { file, pointer } = originOf(given)
    return { file: folder.toName(file), ...placeOf.get(file)!(pointer) }
  }
}
