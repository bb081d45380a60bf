#ifndef SMTL_MTLLIBRARY_H
#define SMTL_MTLLIBRARY_H

#import <Metal/MTLArgument.h>
#import <Metal/MTLFunctionConstantValues.h>
#import <Metal/MTLFunctionDescriptor.h>
#import <Metal/MTLTypes.h>

NS_ASSUME_NONNULL_BEGIN

@protocol MTLArgumentEncoder;
@protocol MTLDevice;
@protocol MTLDynamicLibrary;

typedef NS_ENUM(NSUInteger, MTLFunctionType) {
    MTLFunctionTypeVertex = 1,
    MTLFunctionTypeFragment = 2,
    MTLFunctionTypeKernel = 3,
    MTLFunctionTypeVisible = 5,
    MTLFunctionTypeIntersection = 6,
    MTLFunctionTypeMesh = 7,
    MTLFunctionTypeObject = 8,
};

typedef NS_ENUM(NSUInteger, MTLLanguageVersion) {
    MTLLanguageVersion1_0 = 1 << 16,
    MTLLanguageVersion1_1 = (1 << 16) + 1,
    MTLLanguageVersion1_2 = (1 << 16) + 2,
    MTLLanguageVersion2_0 = 2 << 16,
    MTLLanguageVersion2_1 = (2 << 16) + 1,
    MTLLanguageVersion2_2 = (2 << 16) + 2,
    MTLLanguageVersion2_3 = (2 << 16) + 3,
    MTLLanguageVersion2_4 = (2 << 16) + 4,
    MTLLanguageVersion3_0 = 3 << 16,
    MTLLanguageVersion3_1 = (3 << 16) + 1,
    MTLLanguageVersion3_2 = (3 << 16) + 2,
    MTLLanguageVersion4_0 = 4 << 16,
};

typedef NS_ENUM(NSInteger, MTLLibraryType) {
    MTLLibraryTypeExecutable = 0,
    MTLLibraryTypeDynamic = 1,
};

typedef NS_ENUM(NSInteger, MTLLibraryOptimizationLevel) {
    MTLLibraryOptimizationLevelDefault = 0,
    MTLLibraryOptimizationLevelSize = 1,
};

typedef NS_ENUM(NSInteger, MTLMathMode) {
    MTLMathModeSafe = 0,
    MTLMathModeRelaxed = 1,
    MTLMathModeFast = 2,
};

typedef NS_ENUM(NSInteger, MTLMathFloatingPointFunctions) {
    MTLMathFloatingPointFunctionsFast = 0,
    MTLMathFloatingPointFunctionsPrecise = 1,
};

typedef NS_ENUM(NSInteger, MTLCompileSymbolVisibility) {
    MTLCompileSymbolVisibilityDefault = 0,
    MTLCompileSymbolVisibilityHidden = 1,
};

MTL_EXTERN NSErrorDomain const MTLLibraryErrorDomain;

typedef NS_ENUM(NSUInteger, MTLLibraryError) {
    MTLLibraryErrorUnsupported = 1,
    MTLLibraryErrorInternal = 2,
    MTLLibraryErrorCompileFailure = 3,
    MTLLibraryErrorCompileWarning = 4,
    MTLLibraryErrorFunctionNotFound = 5,
    MTLLibraryErrorFileNotFound = 6,
};

MTL_EXPORT
@interface MTLCompileOptions : NSObject <NSCopying> {
    NSDictionary<NSString *, NSObject *> *_preprocessorMacros;
    MTLMathMode _mathMode;
    MTLMathFloatingPointFunctions _mathFloatingPointFunctions;
    MTLLanguageVersion _languageVersion;
    MTLLibraryType _libraryType;
    MTLLibraryOptimizationLevel _optimizationLevel;
    NSString *_installName;
    BOOL _preserveInvariance;
    NSUInteger _maxTotalThreadsPerThreadgroup;
    NSArray<id<MTLDynamicLibrary>> *_libraries;
    MTLCompileSymbolVisibility _compileSymbolVisibility;
    BOOL _allowReferencingUndefinedSymbols;
    MTLSize _requiredThreadsPerThreadgroup;
    BOOL _enableLogging;
}
/* Values are NSString or NSNumber. */
@property (nullable, nonatomic, copy) NSDictionary<NSString *, NSObject *> *preprocessorMacros;
@property (nonatomic) BOOL fastMathEnabled;
@property (nonatomic) MTLMathMode mathMode;
@property (nonatomic) MTLMathFloatingPointFunctions mathFloatingPointFunctions;
@property (nonatomic) MTLLanguageVersion languageVersion;
@property (nonatomic) MTLLibraryType libraryType;
@property (nonatomic) MTLLibraryOptimizationLevel optimizationLevel;
@property (nullable, nonatomic, copy) NSString *installName;
@property (nonatomic) BOOL preserveInvariance;
@property (nonatomic) NSUInteger maxTotalThreadsPerThreadgroup;
@property (nullable, nonatomic, copy) NSArray<id<MTLDynamicLibrary>> *libraries;
@property (nonatomic) MTLCompileSymbolVisibility compileSymbolVisibility;
@property (nonatomic) BOOL allowReferencingUndefinedSymbols;
@property (nonatomic) MTLSize requiredThreadsPerThreadgroup;
@property (nonatomic) BOOL enableLogging;
@end

typedef MTLArgument *_Nullable MTLAutoreleasedArgument;

MTL_EXPORT
@interface MTLFunctionConstant : NSObject {
    NSString *_name;
    MTLDataType _type;
    NSUInteger _index;
    BOOL _required;
}
@property (readonly) NSString *name;
@property (readonly) MTLDataType type;
@property (readonly) NSUInteger index;
@property (readonly) BOOL required;
@end

@protocol MTLFunction <NSObject>
@property (nullable, copy, atomic) NSString *label;
@property (readonly) id<MTLDevice> device;
@property (readonly) MTLFunctionType functionType;
@property (readonly) NSString *name;
@property (readonly) NSDictionary<NSString *, MTLFunctionConstant *> *functionConstantsDictionary;
@property (readonly) MTLFunctionOptions options;
/* For the argument buffer that the function takes at that index; +1. */
- (id<MTLArgumentEncoder>)newArgumentEncoderWithBufferIndex:(NSUInteger)bufferIndex;
- (id<MTLArgumentEncoder>)newArgumentEncoderWithBufferIndex:(NSUInteger)bufferIndex
                                                 reflection:(MTLAutoreleasedArgument *_Nullable)reflection;
@end

/* What a library tells about a function without a pipeline. */
MTL_EXPORT
@interface MTLFunctionReflection : NSObject {
    NSArray<id<MTLBinding>> *_bindings;
}
@property (readonly) NSArray<id<MTLBinding>> *bindings;
@end

@protocol MTLLibrary <NSObject>
@property (nullable, copy, atomic) NSString *label;
@property (readonly) id<MTLDevice> device;
@property (readonly) NSArray<NSString *> *functionNames;
@property (readonly) MTLLibraryType type;
@property (readonly, nullable) NSString *installName;
- (nullable id<MTLFunction>)newFunctionWithName:(NSString *)functionName;
- (nullable id<MTLFunction>)newFunctionWithName:(NSString *)name
                                 constantValues:(MTLFunctionConstantValues *)constantValues
                                          error:(NSError *_Nullable *_Nullable)error;
- (void)newFunctionWithName:(NSString *)name
             constantValues:(MTLFunctionConstantValues *)constantValues
          completionHandler:(void (^)(id<MTLFunction> _Nullable function, NSError *_Nullable error))completionHandler;
- (nullable id<MTLFunction>)newFunctionWithDescriptor:(MTLFunctionDescriptor *)descriptor
                                                error:(NSError *_Nullable *_Nullable)error;
- (void)newFunctionWithDescriptor:(MTLFunctionDescriptor *)descriptor
                completionHandler:
                    (void (^)(id<MTLFunction> _Nullable function, NSError *_Nullable error))completionHandler;
- (nullable MTLFunctionReflection *)reflectionForFunctionWithName:(NSString *)functionName;
@end

typedef void (^MTLNewLibraryCompletionHandler)(id<MTLLibrary> _Nullable library, NSError *_Nullable error);

NS_ASSUME_NONNULL_END
#endif
