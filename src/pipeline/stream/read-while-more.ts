/**
 * Reads one stretch per signal, and continues without signals while there is more to read.
 *
 * The event loop runs between two stretches, so a long replay leaves room for other work. A signal is ignored while reading
 * continues. Emits after each stretch.
 */

import { Observable, type OperatorFunction } from './rxjs.ts'
import type { Clock } from '../../foundation/runtime/clock.ts'

/** `read` returns whether there is more to read. */
export function readWhileMore(read: () => boolean, clock: Pick<Clock, 'after'>): OperatorFunction<unknown, void> {
  return (source) =>
    new Observable((subscriber) => {
      let isContinuing = false
      let cancel = (): void => {}

      function readStretch(): void {
        isContinuing = false
        try {
          if (read()) continueReading()
        } catch (cause) {
          return subscriber.error(cause)
        }
        subscriber.next()
      }

      function continueReading(): void {
        isContinuing = true
        cancel = clock.after(0, readStretch)
      }

      subscriber.add(() => cancel())
      subscriber.add(
        source.subscribe({
          next: () => {
            if (!isContinuing) readStretch()
          },
          error: (reason) => subscriber.error(reason),
          complete: () => subscriber.complete(),
        }),
      )
    })
}
