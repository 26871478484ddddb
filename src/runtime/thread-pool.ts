/**
 * Sets the size of libuv's thread pool, which all threads of the process share. Must be imported before anything uses the pool.
 *
 * Each statement of the embedded store occupies a thread of the pool while it runs, and up to seven run at once. With the default of
 * four threads, four long reads would delay the files, name lookups and signatures of every call.
 */

process.env['UV_THREADPOOL_SIZE'] ??= '12'
