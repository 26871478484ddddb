/** Global setup: the package, from which journeys start their processes, is that of the sources. */

import { build } from '../packaging/build.ts'

export default build
