/**
 * The certificates that this service presents, read again when their files change.
 *
 * The folders of the files are watched, because a file is usually replaced by another one. They are also read once an hour, for
 * changes that the system does not report: behind a symbolic link, or on a network drive. A certificate that cannot be read does not
 * replace the one before.
 */

import { randomBytes } from 'node:crypto'
import { watch, type FSWatcher } from 'node:fs'
import { dirname } from 'node:path'
import type { TlsPlan } from './tls-plan.ts'
import type { CountEvent } from '../runtime/event-reasons.ts'
import type { Clock } from '../runtime/clock.ts'
import type { Log } from '../runtime/log.ts'
import { readCertificates, type Certificates, type StoredCertificate, type TlsSettings } from './certificate-files.ts'

/** Several files change together; a certificate without its key is of no use. */
const CHANGED_FOR_MS = 200
const READ_EVERY_MS = 3_600_000
const TICKET_KEY_BYTES = 48

export interface ServedCertificatesOptions {
  readonly settings: TlsSettings
  /** As the start has read them. */
  readonly first: Certificates
  readonly clock: Clock
  readonly log: Pick<Log, 'info' | 'warn' | 'error'>
  readonly count: CountEvent
}

/** Presents other certificates to new connections. */
export type Present = (plan: TlsPlan) => Promise<void> | void

export class ServedCertificates {
  plan: TlsPlan
  readonly #options: ServedCertificatesOptions
  #current: Certificates
  /** Whether all servers present the current certificates. */
  #isPresented = true
  readonly #listeners: Present[] = []
  #watchers: readonly FSWatcher[] = []
  #cancelRead: (() => void) | null = null
  #stopReading: (() => void) | null = null
  #reading: Promise<void> = Promise.resolve()

  constructor(options: ServedCertificatesOptions) {
    this.#options = options
    this.#current = options.first
    this.plan = toPlan(options.first)
  }

  get all(): readonly StoredCertificate[] {
    const { fallback, others } = this.#current
    return fallback === null ? others : [fallback, ...others]
  }

  onChange(present: Present): void {
    this.#listeners.push(present)
  }

  /** Begins to follow the files, which may have changed since the start has read them. */
  watch(): void {
    this.#watchFolders()
    void this.read()
    this.#stopReading = this.#options.clock.every(READ_EVERY_MS, () => {
      this.#unwatchFolders()
      this.#watchFolders()
      void this.read()
    })
  }

  async stop(): Promise<void> {
    this.#stopReading?.()
    this.#cancelRead?.()
    this.#unwatchFolders()
    await this.#reading
  }

  /** Reads the files, after a read that is under way. */
  read(): Promise<void> {
    return (this.#reading = this.#reading.then(() => this.#read()))
  }

  async #read(): Promise<void> {
    const { settings, log, count } = this.#options
    try {
      const next = await readCertificates(settings, this.#current)
      for (const fault of next.faults) {
        count('certificate_not_read')
        log.error({ fault }, 'a certificate could not be read; the one before is still presented')
      }
      const isSame = textOf(next) === textOf(this.#current)
      this.#current = next
      if (isSame && this.#isPresented) return
      this.#isPresented = false
      const plan = (this.plan = toPlan(next))
      await Promise.all(this.#listeners.map((present) => present(plan)))
      this.#isPresented = true
      log.info({ certificates: this.all.length }, 'certificates have changed; new connections get the new ones')
    } catch (cause) {
      count('certificate_not_read')
      log.error({ err: cause }, 'certificates could not be presented to all servers; retrying within an hour')
    }
  }

  #watchFolders(): void {
    const { pair, folder, clientCaFile } = this.#options.settings
    const files = [pair?.certFile, pair?.keyFile, clientCaFile].filter((file) => file !== undefined && file !== null)
    const folders = [...new Set(files.map((file) => dirname(file)))].map((path) => [path, false] as const)
    const watched = folder === null ? folders : [...folders, [folder, true] as const]
    this.#watchers = watched.flatMap(([path, recursive]) => this.#watchFolder(path, recursive))
  }

  #watchFolder(path: string, recursive: boolean): readonly FSWatcher[] {
    const onFault = (cause: unknown): void =>
      this.#options.log.warn(
        { err: cause, path },
        'a folder of certificates cannot be watched; it is read once an hour',
      )
    try {
      const watcher = watch(path, { recursive, persistent: false }, () => this.#onChanged())
      watcher.on('error', onFault)
      return [watcher]
    } catch (cause) {
      onFault(cause)
      return []
    }
  }

  #unwatchFolders(): void {
    for (const watcher of this.#watchers) watcher.close()
    this.#watchers = []
  }

  /** A folder in which something changes all the time must not delay the read for ever. */
  #onChanged(): void {
    this.#cancelRead ??= this.#options.clock.after(CHANGED_FOR_MS, () => {
      this.#cancelRead = null
      void this.read()
    })
  }
}

function toPlan({ fallback, others, clientCa }: Certificates): TlsPlan {
  return { fallback, others, clientCa, ticketKeys: randomBytes(TICKET_KEY_BYTES) }
}

function textOf({ fallback, others, clientCa }: Certificates): string {
  return JSON.stringify([fallback, others, clientCa])
}
