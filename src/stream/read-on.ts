/**
 * Reads a stretch on each word from the source, and goes on by itself while there is more.
 *
 * Between two stretches the event loop gets its turn, so a long replay leaves room for others. A word
 * that comes while reading goes on anyway is part of that reading. Emits after each stretch.
 */

import { Observable, type OperatorFunction } from 'rxjs'
import type { Clock } from '../runtime/clock.ts'

/** `read` answers whether it is worth reading on at once. */
export function readOn(read: () => boolean, clock: Pick<Clock, 'after'>): OperatorFunction<unknown, void> {
  return (source) =>
    new Observable((subscriber) => {
      let isReadingOn = false
      let cancel = (): void => {}

      function stretch(): void {
        isReadingOn = false
        try {
          if (read()) goOn()
        } catch (cause) {
          return subscriber.error(cause)
        }
        subscriber.next()
      }

      function goOn(): void {
        isReadingOn = true
        cancel = clock.after(0, stretch)
      }

      subscriber.add(() => cancel())
      subscriber.add(
        source.subscribe({
          next: () => {
            if (!isReadingOn) stretch()
          },
          error: (reason) => subscriber.error(reason),
          complete: () => subscriber.complete(),
        }),
      )
    })
}
